// SPDX-License-Identifier: MIT
/// The C interface for algorithms in a shared object (a *plug-in*), version 1. Plain C99; this file
/// is all that a plug-in needs, it links with nothing of Ringside.
///
/// A plug-in exports one function, ringside_algorithms_v1, that lists its algorithms. Each writes
/// plans: it is asked for a request (a collective, a number of ranks, a root, a placement) and
/// lists *ops* for all ranks at once. It moves no data and knows no message size. Ringside proves
/// the plan and runs it. A complete one, an all-reduce on which rank 0 does all the work:
///
///     #include <ringside/ringside_algorithm.h>
///
///     static int32_t build(const ringside_request_v1* request,
///                          const ringside_argument_v1* arguments, size_t argument_count,
///                          ringside_sink_v1* sink) {
///       const ringside_shape_v1 shape = {sizeof shape, 1, 1, 1};
///       int32_t rank;
///       (void)arguments, (void)argument_count;
///       if (sink->set_shape(sink, &shape)) return RINGSIDE_BUILD_FAILED;
///       for (rank = 1; rank < request->ranks; ++rank) {
///         const ringside_location_v1 from[2] = {{0, RINGSIDE_RUNNING, 0, 0},
///                                               {rank, RINGSIDE_RUNNING, 0, 0}};
///         const ringside_op_v1 add = {sizeof add, 0, 0, 1, 2, 1, from, &from[0]};
///         if (sink->add_op(sink, &add)) return RINGSIDE_BUILD_FAILED;
///       }
///       for (rank = 1; rank < request->ranks; ++rank) {
///         const ringside_location_v1 at[2] = {{0, RINGSIDE_RUNNING, 0, 0},
///                                             {rank, RINGSIDE_RUNNING, 0, 0}};
///         const ringside_op_v1 copy = {sizeof copy, rank, 0, 1, 1, 1, &at[0], &at[1]};
///         if (sink->add_op(sink, &copy)) return RINGSIDE_BUILD_FAILED;
///       }
///       return RINGSIDE_BUILD_OK;
///     }
///
///     static const ringside_algorithm_v1 star = {
///         sizeof star, RINGSIDE_ALGORITHM_VERSION, "star", "all data added at rank 0", NULL,
///         RINGSIDE_SERVES(RINGSIDE_ALL_REDUCE), 0, NULL, NULL, build};
///     static const ringside_algorithm_v1* const algorithms[] = {&star};
///
///     const ringside_algorithm_v1* const* ringside_algorithms_v1(size_t* count) {
///       *count = 1;
///       return algorithms;
///     }
///
/// Compile it as a shared object (cc -std=c99 -shared -fPIC -o star.so star.c) and name it by its
/// path: `ringside --plugin ./star.so bench -a star`, RINGSIDE_PLUGINS=./star.so, or load_plugin()
/// of the C++ and ringside_load_plugin() of the C interface. No folder is searched.
///
/// What Ringside holds a plug-in to. All of these end in an error that names the file and the
/// reason, before anything runs; only a crash cannot be caught:
/// - the version and the sizes below, all functions and texts there, and names nobody else has;
/// - ops within the request and the shape;
/// - the same plan for the same request and arguments, every time: `build` is called twice and the
///   plans are compared, and ranks in different processes compare hashes at every call;
/// - an answer within the time limit of the call that asks, and of a bounded number of locations;
///   an exception that leaves a function of it counts as an error;
/// - a right plan, which the prover decides.
///
/// A library that has been loaded is never unloaded. What it hands out must live as long as it.
/// Its functions may be called from any thread, but never two at once.
///
/// Growth: every struct that begins with `size` says how much of it its writer knew. Later versions
/// of this header may append members; a reader takes those that both know. What cannot be done that
/// way gets a new version number and entry function.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// For ringside_algorithm_v1.version.
#define RINGSIDE_ALGORITHM_VERSION 1

/// Collectives, as numbers that never change.
enum {
  RINGSIDE_ALL_REDUCE = 0,
  RINGSIDE_REDUCE_SCATTER = 1,
  RINGSIDE_ALL_GATHER = 2,
  RINGSIDE_BROADCAST = 3,
  RINGSIDE_REDUCE = 4,
  RINGSIDE_GATHER = 5,
  RINGSIDE_SCATTER = 6,
  RINGSIDE_ALL_TO_ALL = 7,
  RINGSIDE_BARRIER = 8
};

/// The bit of a collective in ringside_algorithm_v1.collectives; combine them with |.
#define RINGSIDE_SERVES(collective) (1u << (collective))

/// What a plan is wanted for.
///
/// The data of a request are *blocks*, numbered from 0: one for all_reduce, broadcast and reduce;
/// one per rank for reduce_scatter, all_gather, gather and scatter; ranks^2 for all_to_all (from x
/// ranks + to). A block is cut in C chunks (ringside_shape_v1), and chunk numbers
/// run through all blocks: chunk = block x C + index in the block. A chunk number is thus a piece
/// of data, wherever it lies. (A barrier has no data: no algorithm can serve it.)
///
/// Which blocks a rank's buffers hold: all_reduce, broadcast, reduce: block 0. reduce_scatter:
/// input all, output its own. all_gather: input its own, output all. gather: input its own, the
/// root's output all. scatter: the root's input all, output its own. all_to_all: input those from
/// it, output those to it. (broadcast: only the root's input; reduce: only the root's output.)
typedef struct ringside_request_v1 {
  uint32_t size;       ///< of this struct, as Ringside knows it
  int32_t collective;  ///< RINGSIDE_ALL_REDUCE, ...
  int32_t ranks;       ///< at least 2: one rank alone is a copy, and nobody is asked
  int32_t root;        ///< broadcast, reduce, gather, scatter; 0 elsewhere
  int32_t in_place;    ///< 1: where a rank's input and output hold the same block, it is the same
                       ///< memory; else 0
} ringside_request_v1;

/// A parameter that the algorithm takes, as `ringside algorithms` lists it. The names `slices`,
/// `lanes` and `depth` are taken: every algorithm has those, and Ringside sees to them.
typedef struct ringside_parameter_v1 {
  const char* name;          ///< letters, digits and '_'
  const char* default_text;  ///< what holds where it is not given, for people
  const char* meaning;       ///< one line, for people
} ringside_parameter_v1;

/// A parameter that the spec string gave: star:root=2 is {"root", "2"}. Which ones there are has
/// been checked, their values have not.
typedef struct ringside_argument_v1 {
  const char* name;   ///< one of the algorithm's parameters
  const char* value;  ///< what stands behind the '=', as it was given
} ringside_argument_v1;

/// How the data are cut, and into how many lanes the ops are sorted.
typedef struct ringside_shape_v1 {
  uint32_t size;             ///< sizeof(ringside_shape_v1)
  int32_t chunks_per_block;  ///< C, at least 1; a chunk may be empty in a short message
  /// Lanes that the ops tell apart, 1 to 16. A lane is a queue of a rank; phases that should
  /// overlap when chunks are cut in slices go to different ones. 1 is always right.
  int32_t lanes;
  /// Lanes used when there is only one slice; 1 unless parts of the plan run side by side anyway.
  int32_t unsliced_lanes;
} ringside_shape_v1;

/// Where a piece of data lies.
enum {
  RINGSIDE_INPUT = 0,    ///< what the caller passed; only to be read, unless it is in place
  RINGSIDE_OUTPUT = 1,   ///< what the caller gets
  RINGSIDE_SCRATCH = 2,  ///< memory that add_scratch asked for
  /// The rank's running value of the chunk: its input until an op has stored one, from then on its
  /// output (or scratch, where its output does not hold the chunk). As a destination: where it
  /// stores its next one. With this alone, one text serves both placements, and the algorithm may
  /// be a level of `hierarchical`.
  RINGSIDE_RUNNING = 3
};
/// One chunk in one buffer of one rank.
typedef struct ringside_location_v1 {
  int32_t rank;    ///< 0 to ranks - 1
  int32_t buffer;  ///< RINGSIDE_INPUT, ...
  int32_t slot;    ///< RINGSIDE_SCRATCH: what add_scratch returned; 0 elsewhere
  int32_t chunk;   ///< the same for all locations of an op
} ringside_location_v1;

/// Rank `rank`, in its lane `lane`, reads the sources, folds them left to right and stores the
/// value to all destinations; for `count` chunks, from the one that the locations name. One source
/// is a copy; a destination may be a source. At least one location is the executing rank's: whether
/// data are pulled or pushed is the choice of that rank.
///
/// A plan means its ops one after another in the order in which they were added. What may run at
/// the same time is derived from the data that they touch; there is nothing to synchronise.
typedef struct ringside_op_v1 {
  uint32_t size;                             ///< sizeof(ringside_op_v1)
  int32_t rank;                              ///< that executes it
  int32_t lane;                              ///< 0 to the shape's lanes - 1
  int32_t count;                             ///< of chunks, at least 1
  uint32_t source_count;                     ///< 1 to 1024
  uint32_t destination_count;                ///< 1 to 1024
  const ringside_location_v1* sources;       ///< in the order of folding
  const ringside_location_v1* destinations;  ///< all get the value
} ringside_op_v1;

/// What `build` writes to. Its functions return a negative number when they refuse what they are
/// given; the reason is kept, `build` should return, and the plan is refused whatever it returns.
/// Nothing that is passed is kept: it may be gone when the function returns.
typedef struct ringside_sink_v1 {
  uint32_t size;     ///< of this struct, as Ringside knows it
  uint32_t version;  ///< RINGSIDE_ALGORITHM_VERSION, as Ringside knows it
  /// First, and once. Returns 0.
  int32_t (*set_shape)(struct ringside_sink_v1* sink, const ringside_shape_v1* shape);
  /// Gives a rank scratch for the chunks first_chunk .. first_chunk + chunk_count - 1. Returns the
  /// slot's number: 0, 1, ... for each rank.
  int32_t (*add_scratch)(struct ringside_sink_v1* sink, int32_t rank, int32_t first_chunk,
                         int32_t chunk_count);
  /// Adds an op at the end. Returns 0.
  int32_t (*add_op)(struct ringside_sink_v1* sink, const ringside_op_v1* op);
  /// Why `build` is about to return something else than RINGSIDE_BUILD_OK: one line for people.
  void (*explain)(struct ringside_sink_v1* sink, const char* reason);
} ringside_sink_v1;

/// What `build` returns. Anything else counts as RINGSIDE_BUILD_FAILED.
enum {
  RINGSIDE_BUILD_OK = 0,
  RINGSIDE_BUILD_FAILED = 1,
  RINGSIDE_BUILD_UNSUPPORTED = 2,  ///< this request cannot be served
  RINGSIDE_BUILD_BAD_ARGUMENT = 3  ///< a parameter's value makes no sense
};

/// An algorithm.
typedef struct ringside_algorithm_v1 {
  uint32_t size;             ///< sizeof(ringside_algorithm_v1)
  uint32_t version;          ///< RINGSIDE_ALGORITHM_VERSION
  const char* name;          ///< letters, digits and '_'; not auto, all, or one that is taken
  const char* summary;       ///< one line
  const char* reference;     ///< the paper, or NULL
  uint32_t collectives;      ///< RINGSIDE_SERVES(...) | RINGSIDE_SERVES(...)
  uint32_t parameter_count;  ///< of `parameters`
  const ringside_parameter_v1* parameters;  ///< may be NULL if there are none
  /// NULL, or says why a request cannot be served: one line that follows "star: ". Returns NULL if
  /// it can. (The collective is one of those above.)
  const char* (*supports)(const ringside_request_v1* request);
  /// Writes the plan. Must do the same whenever it is called with the same request and arguments,
  /// on every rank and machine.
  int32_t (*build)(const ringside_request_v1* request, const ringside_argument_v1* arguments,
                   size_t argument_count, ringside_sink_v1* sink);
} ringside_algorithm_v1;

/// What a plug-in exports: `*count` pointers to its algorithms, which stay valid.
typedef const ringside_algorithm_v1* const* (*ringside_algorithms_v1_function)(size_t* count);

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const ringside_algorithm_v1* const*
ringside_algorithms_v1(size_t* count);

#ifdef __cplusplus
}
#endif
