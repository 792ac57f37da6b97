// SPDX-License-Identifier: MIT
/// The C interface: everything a C program that uses Ringside includes. Plain C99.
///
///     static int body(ringside_communicator* comm, void* user) {
///       float sum = (float)ringside_rank(comm);
///       return ringside_all_reduce(comm, &sum, &sum, 1, RINGSIDE_FLOAT32, RINGSIDE_SUM, NULL,
///       NULL);
///     }
///     ...
///     ringside_world* world;
///     if (ringside_world_threads(4, &world) || ringside_world_run(world, body, NULL))
///       fprintf(stderr, "%s\n", ringside_last_error());
///     ringside_world_destroy(world);
///
/// Every function that can fail returns a status: RINGSIDE_OK (0), or why not;
/// ringside_last_error() then has the words. No exception leaves the library and no call ends the
/// process. Pointers that a call needs must not be NULL (RINGSIDE_INVALID_ARGUMENT). Where a call
/// fails, what it would have returned through a pointer is NULL or 0.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ringside/ringside_algorithm.h"  // the numbers of the collectives

#ifdef __cplusplus
extern "C" {
#endif

// --- status
// ---------------------------------------------------------------------------------------

/// RINGSIDE_OK, or one of the numbers below; from ringside_world_run also what a body returned.
typedef int ringside_status;

enum {
  RINGSIDE_OK = 0,
  RINGSIDE_INVALID_ARGUMENT = 1,  ///< the caller asked for something that makes no sense
  RINGSIDE_BAD_INPUT = 2,         ///< a file, a spec string or a plug-in cannot be read
  RINGSIDE_UNSUPPORTED = 3,       ///< legal, but this algorithm, build or machine cannot do it
  RINGSIDE_MISMATCH = 4,          ///< ranks of one communicator made different calls
  RINGSIDE_TIMEOUT = 5,    ///< a rank did not arrive, or did not go on, within the time limit
  RINGSIDE_ABORTED = 6,    ///< the communicator was aborted
  RINGSIDE_FAILED = 7,     ///< the communicator failed in an earlier call
  RINGSIDE_IO = 8,         ///< the operating system refused (file, process, memory)
  RINGSIDE_INTERNAL = 9,   ///< a defect in Ringside
  RINGSIDE_DEVICE = 10,    ///< a GPU or its runtime refused or failed
  RINGSIDE_CORRUPTED = 11  ///< bytes that arrived differ from those sent (the option `checksum`)
};

/// "ok", "invalid_argument", ...; "unknown" for other numbers.
const char* ringside_status_name(ringside_status status);

/// One line about the last call on this thread that failed; "" if none has. Valid until the next
/// one fails.
const char* ringside_last_error(void);

/// "0.1.0".
const char* ringside_version(void);

// --- set-up
// ---------------------------------------------------------------------------------------

/// Sets an option of the library, as `ringside options` lists them, above the environment.
ringside_status ringside_set_option(const char* name, const char* value);

/// Registers the algorithms of a shared object (ringside_algorithm.h), given by its path.
ringside_status ringside_load_plugin(const char* path);

/// All ranks of a job.
typedef struct ringside_world ringside_world;

/// One rank's end of a communicator. Used by one thread at a time.
typedef struct ringside_communicator ringside_communicator;

/// What every rank runs: 0, or a status of its own choice, which ringside_world_run then returns.
typedef int (*ringside_body)(ringside_communicator* comm, void* user);

/// A world of `ranks` threads of this process (1 to 256).
ringside_status ringside_world_threads(int ranks, ringside_world** world);

/// A rank for every entry, on the GPU of that number; a GPU may stand there more than once. Buffers
/// are memory of the rank's GPU, which is its thread's current one while the body runs.
/// RINGSIDE_UNSUPPORTED without a usable GPU or in a build without CUDA.
ringside_status ringside_world_cuda(const int* devices, int ranks, ringside_world** world);

/// The same with NCCL's collectives; its library is opened now.
ringside_status ringside_world_nccl(const int* devices, int ranks, ringside_world** world);

/// Runs `body` once per rank, each on a thread of its own, and returns when all have. May be called
/// again, one call at a time; every run begins with a new communicator, which is gone at its end.
/// If a body returns another number than 0, the communicator is aborted, so that nobody waits for
/// the missing rank; the number that came first is returned, with its rank's last error.
ringside_status ringside_world_run(ringside_world* world, ringside_body body, void* user);

/// Number of ranks; -1 for NULL.
int ringside_world_size(const ringside_world* world);

/// NULL is nothing to destroy.
void ringside_world_destroy(ringside_world* world);

// --- communicators
// --------------------------------------------------------------------------------

/// This end's rank, and the number of ranks; -1 for NULL.
int ringside_rank(const ringside_communicator* comm);
int ringside_size(const ringside_communicator* comm);

/// For ringside_split: this rank joins no part.
#define RINGSIDE_NO_COLOR (-1)

/// Called by all ranks: those that give the same `color` become a communicator of their own, ranked
/// by (key, rank here). `*part` is NULL for a rank without a colour. To be destroyed by its rank.
ringside_status ringside_split(ringside_communicator* comm, int color, int key,
                               ringside_communicator** part);

/// Waits for what is outstanding and destroys what ringside_split made. (That of a world's run is
/// refused: the run ends it.) NULL is nothing to destroy.
ringside_status ringside_communicator_destroy(ringside_communicator* comm);

/// Makes every waiting and every later call of all ranks fail. Callable from any thread.
ringside_status ringside_abort(ringside_communicator* comm, const char* why);

// --- calls
// ----------------------------------------------------------------------------------------

typedef int32_t ringside_type;

/// Element types. The 16-bit and 8-bit floats are stored as bits, and added in float32.
enum {
  RINGSIDE_INT8 = 0,
  RINGSIDE_UINT8 = 1,
  RINGSIDE_INT32 = 2,
  RINGSIDE_UINT32 = 3,
  RINGSIDE_INT64 = 4,
  RINGSIDE_UINT64 = 5,
  RINGSIDE_FLOAT16 = 6,
  RINGSIDE_FLOAT32 = 7,
  RINGSIDE_FLOAT64 = 8,
  RINGSIDE_BFLOAT16 = 9,
  RINGSIDE_FLOAT8_E4M3 = 10,
  RINGSIDE_FLOAT8_E5M2 = 11
};

typedef int32_t ringside_op;

/// Operators. avg divides the sum by the number of ranks; premul_sum multiplies every contribution
/// by the options' scalar first.
enum {
  RINGSIDE_SUM = 0,
  RINGSIDE_PROD = 1,
  RINGSIDE_MAX = 2,
  RINGSIDE_MIN = 3,
  RINGSIDE_AVG = 4,
  RINGSIDE_PREMUL_SUM = 5
};

/// What a call may ask for beyond its arguments; NULL in its place: the defaults. All ranks must
/// ask for the same. Begin with RINGSIDE_OPTIONS, so that members of later versions have their
/// defaults.
typedef struct ringside_options {
  size_t size;            ///< sizeof(ringside_options)
  const char* algorithm;  ///< a spec string or plan file; NULL: the option `algorithm` ("auto")
  double scalar;          ///< premul_sum; 1
  double timeout;         ///< longest wait for another rank, in seconds; 0: the option `timeout`.
                          ///< May differ between ranks
  void* const* stream;    ///< GPUs: where this rank's cudaStream_t is that the call is ordered in;
                          ///< it then returns when it has been enqueued. NULL: no stream, the call
                          ///< returns when it is complete. May differ between ranks, not
                          ///< with NCCL
} ringside_options;

#define RINGSIDE_OPTIONS \
  { sizeof(ringside_options), NULL, 1.0, 0.0, NULL }

/// An asynchronous call under way.
typedef struct ringside_handle ringside_handle;

/// The collectives. Rules for all of them:
///
/// - All ranks of the communicator make the same calls in the same order.
/// - `handle` NULL: the call returns when this rank's output is complete and nobody will touch its
///   buffers any more. Otherwise it returns at once, and *handle is what to wait for; the buffers
///   belong to the call until then. Arguments are checked at once in both forms. Calls on one
///   communicator run in the order in which they were made.
/// - Lengths are in elements. Zero elements are legal, and any alignment. A buffer that a rank has
///   no part in (the output of a rank that is not the root of a reduce) may be NULL.
/// - Blocks of equal length are given by that length (block_count 1), unequal ones by the list of
///   all lengths, the same list on every rank: one a rank, in rank order; for all_to_all one a
///   pair, from x ranks + to. The list is copied.
/// - In place: a block that a rank holds in its input and its output is at the same address in
/// both.
///   all_reduce, broadcast, reduce: input == output. reduce_scatter and scatter (root): output ==
///   input + the blocks of the ranks before. all_gather and gather (root): input == output + the
///   blocks of the ranks before. all_to_all cannot be in place. Otherwise the two do not overlap.
/// - RINGSIDE_MISMATCH: ranks made different calls; every rank gets it, no buffer was touched, the
///   communicator works on. RINGSIDE_TIMEOUT, _ABORTED, _CORRUPTED, and _DEVICE or _IO in a call:
///   it has failed, and every later call on any rank returns RINGSIDE_FAILED with the first cause.

/// `output[i]` = `input[i]` of all ranks folded by `op`.
ringside_status ringside_all_reduce(ringside_communicator* comm, const void* input, void* output,
                                    size_t elements, ringside_type type, ringside_op op,
                                    const ringside_options* options, ringside_handle** handle);

/// Rank r's output is block r of all ranks' inputs folded by `op`.
ringside_status ringside_reduce_scatter(ringside_communicator* comm, const void* input,
                                        void* output, const size_t* blocks, size_t block_count,
                                        ringside_type type, ringside_op op,
                                        const ringside_options* options, ringside_handle** handle);

/// Every rank's output is all ranks' inputs, one block each, in rank order.
ringside_status ringside_all_gather(ringside_communicator* comm, const void* input, void* output,
                                    const size_t* blocks, size_t block_count, ringside_type type,
                                    const ringside_options* options, ringside_handle** handle);

/// Every rank's output is the root's input.
ringside_status ringside_broadcast(ringside_communicator* comm, const void* input, void* output,
                                   size_t elements, ringside_type type, int root,
                                   const ringside_options* options, ringside_handle** handle);

/// The root's output is all ranks' inputs folded by `op`.
ringside_status ringside_reduce(ringside_communicator* comm, const void* input, void* output,
                                size_t elements, ringside_type type, ringside_op op, int root,
                                const ringside_options* options, ringside_handle** handle);

/// The root's output is all ranks' inputs, one block each, in rank order.
ringside_status ringside_gather(ringside_communicator* comm, const void* input, void* output,
                                const size_t* blocks, size_t block_count, ringside_type type,
                                int root, const ringside_options* options,
                                ringside_handle** handle);

/// Rank r's output is block r of the root's input.
ringside_status ringside_scatter(ringside_communicator* comm, const void* input, void* output,
                                 const size_t* blocks, size_t block_count, ringside_type type,
                                 int root, const ringside_options* options,
                                 ringside_handle** handle);

/// Block t of rank f's input becomes block f of rank t's output.
ringside_status ringside_all_to_all(ringside_communicator* comm, const void* input, void* output,
                                    const size_t* blocks, size_t block_count, ringside_type type,
                                    const ringside_options* options, ringside_handle** handle);

/// Over when all ranks have called it.
ringside_status ringside_barrier(ringside_communicator* comm, const ringside_options* options,
                                 ringside_handle** handle);

/// Transfers between two ranks: matched by pair, in the order of the calls; both ends must agree on
/// length and type (else both get RINGSIDE_MISMATCH). A send is over when the data have been taken.
/// Two ranks that send to each other group the calls or make them with handles.
ringside_status ringside_send(ringside_communicator* comm, const void* data, size_t elements,
                              ringside_type type, int to, const ringside_options* options,
                              ringside_handle** handle);
ringside_status ringside_recv(ringside_communicator* comm, void* data, size_t elements,
                              ringside_type type, int from, const ringside_options* options,
                              ringside_handle** handle);

/// The canonical spec string of the algorithm that a call would run; `bytes`: of all blocks of the
/// request together. Writes at most `size` bytes with the final zero to `text`, and the length
/// without it to `*length`, which may be NULL: a text that was cut is one with *length >= size.
ringside_status ringside_algorithm_for(const ringside_communicator* comm, int32_t collective,
                                       size_t bytes, int in_place, const ringside_options* options,
                                       char* text, size_t size, size_t* length);

/// What such a call would run and why, and what that moves, in words; the text is given as by
/// ringside_algorithm_for.
ringside_status ringside_explain(const ringside_communicator* comm, int32_t collective,
                                 size_t bytes, int in_place, const ringside_options* options,
                                 char* text, size_t size, size_t* length);

// --- handles
// --------------------------------------------------------------------------------------

/// Returns when the call is over, with its status: every time. In an open group the call has not
/// even begun: RINGSIDE_INVALID_ARGUMENT.
ringside_status ringside_wait(ringside_handle* handle);

/// Sets *done to 1 if the call is over, well or not, else to 0.
ringside_status ringside_test(const ringside_handle* handle, int* done);

/// Waits for the call, drops its status, and destroys the handle. Every handle must be destroyed,
/// also after its communicator. NULL is nothing to destroy.
void ringside_handle_destroy(ringside_handle* handle);

// --- groups
// ---------------------------------------------------------------------------------------

/// Calls of this thread from here on, on whatever communicators, are noted and start when the
/// outermost group ends; so two ranks may send to each other. Groups nest. A call without a handle
/// returns at once in a group.
ringside_status ringside_group_start(void);

/// Ends the innermost group. If it is the outermost one: runs what was noted and returns, with the
/// status of the first call that failed, when those without handles are over.
ringside_status ringside_group_end(void);

/// Ends the innermost group; nothing that was noted since its start will run: waits for it return
/// RINGSIDE_ABORTED. What outer groups have noted besides stays noted.
ringside_status ringside_group_discard(void);

#ifdef __cplusplus
}
#endif
