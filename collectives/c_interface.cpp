// SPDX-License-Identifier: MIT
/// ringside.h: the C++ interface behind opaque handles, status codes and a last error per thread.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/call.hpp"
#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/group.hpp"
#include "ringside/collectives/plugin/plugin.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/ringside.h"

struct ringside_world {
  ringside::World world;
};

/// Of a world's run, or owned: made by a split.
struct ringside_communicator {
  ringside::Communicator* communicator = nullptr;
  std::optional<ringside::Communicator> owned;
};

struct ringside_handle {
  ringside::Handle handle;
};

namespace ringside {
namespace {

// The numbers of the C interface are the library's own.
static_assert(RINGSIDE_INVALID_ARGUMENT == static_cast<int>(ErrorCode::invalid_argument));
static_assert(RINGSIDE_BAD_INPUT == static_cast<int>(ErrorCode::bad_input));
static_assert(RINGSIDE_UNSUPPORTED == static_cast<int>(ErrorCode::unsupported));
static_assert(RINGSIDE_MISMATCH == static_cast<int>(ErrorCode::mismatch));
static_assert(RINGSIDE_TIMEOUT == static_cast<int>(ErrorCode::timeout));
static_assert(RINGSIDE_ABORTED == static_cast<int>(ErrorCode::aborted));
static_assert(RINGSIDE_FAILED == static_cast<int>(ErrorCode::failed));
static_assert(RINGSIDE_IO == static_cast<int>(ErrorCode::io));
static_assert(RINGSIDE_INTERNAL == static_cast<int>(ErrorCode::internal));
static_assert(RINGSIDE_DEVICE == static_cast<int>(ErrorCode::device));
static_assert(RINGSIDE_CORRUPTED == static_cast<int>(ErrorCode::corrupted));
static_assert(RINGSIDE_INT8 == static_cast<int>(ElementType::int8));
static_assert(RINGSIDE_UINT8 == static_cast<int>(ElementType::uint8));
static_assert(RINGSIDE_INT32 == static_cast<int>(ElementType::int32));
static_assert(RINGSIDE_UINT32 == static_cast<int>(ElementType::uint32));
static_assert(RINGSIDE_INT64 == static_cast<int>(ElementType::int64));
static_assert(RINGSIDE_UINT64 == static_cast<int>(ElementType::uint64));
static_assert(RINGSIDE_FLOAT16 == static_cast<int>(ElementType::float16));
static_assert(RINGSIDE_FLOAT32 == static_cast<int>(ElementType::float32));
static_assert(RINGSIDE_FLOAT64 == static_cast<int>(ElementType::float64));
static_assert(RINGSIDE_BFLOAT16 == static_cast<int>(ElementType::bfloat16));
static_assert(RINGSIDE_FLOAT8_E4M3 == static_cast<int>(ElementType::float8_e4m3));
static_assert(RINGSIDE_FLOAT8_E5M2 == static_cast<int>(ElementType::float8_e5m2));
static_assert(RINGSIDE_SUM == static_cast<int>(ReduceOp::sum));
static_assert(RINGSIDE_PROD == static_cast<int>(ReduceOp::prod));
static_assert(RINGSIDE_MAX == static_cast<int>(ReduceOp::max));
static_assert(RINGSIDE_MIN == static_cast<int>(ReduceOp::min));
static_assert(RINGSIDE_AVG == static_cast<int>(ReduceOp::avg));
static_assert(RINGSIDE_PREMUL_SUM == static_cast<int>(ReduceOp::premul_sum));
static_assert(RINGSIDE_NO_COLOR == Communicator::no_color);

thread_local std::string last_error;  // NOLINT(cert-err58-cpp)

ringside_status fail(ringside_status status, const char* words) noexcept {
  try {
    last_error = words;
  } catch (...) {
    last_error.clear();  // no memory for words
  }
  return status;
}

/// A body's own status, on its way through World::run.
class BodyStatus : public std::exception {
 public:
  BodyStatus(int status, std::string words) : status_(status), words_(std::move(words)) {}
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const char* what() const noexcept override { return words_.c_str(); }

 private:
  int status_;
  std::string words_;
};

/// Runs `body` and turns whatever it throws into a status and the last error.
template <class Body>
ringside_status guarded(Body&& body) noexcept {
  try {
    body();
    return RINGSIDE_OK;
  } catch (const Error& error) {
    return fail(static_cast<int>(error.code()), error.what());
  } catch (const BodyStatus& error) {
    return fail(error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(RINGSIDE_IO, "out of memory");
  } catch (const std::exception& error) {
    return fail(RINGSIDE_INTERNAL, error.what());
  } catch (...) {
    return fail(RINGSIDE_INTERNAL, "something was thrown that is no std::exception");
  }
}

template <class T>
T& demand(T* pointer, const char* what) {
  if (pointer == nullptr) throw Error(ErrorCode::invalid_argument, fmt::format("{} is NULL", what));
  return *pointer;
}

Communicator& communicator_of(const ringside_communicator* comm) {
  return *demand(comm, "the communicator").communicator;
}

/// The caller's options may be of an earlier header, and shorter: it then has the rest by default.
CallOptions options_of(const ringside_options* given) {
  if (given == nullptr) return {};
  ringside_options options = RINGSIDE_OPTIONS;
  const std::size_t size = given->size;
  // Where a member ends, or more than this version knows.
  constexpr std::array ends = {offsetof(ringside_options, scalar),
                               offsetof(ringside_options, timeout),
                               offsetof(ringside_options, stream)};
  if (size < sizeof options && std::find(ends.begin(), ends.end(), size) == ends.end())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("options of {} bytes: begin with RINGSIDE_OPTIONS", size));
  std::memcpy(&options, given, std::min(size, sizeof options));
  CallOptions result;
  if (options.algorithm != nullptr) result.algorithm = options.algorithm;
  result.scalar = options.scalar;
  if (options.timeout != 0) result.timeout = std::chrono::duration<double>(options.timeout);
  if (options.stream != nullptr) result.stream = *options.stream;
  check_timeout(result);
  return result;
}

/// Makes the call: at once, or asynchronously if there is a place for its handle.
template <class What>
ringside_status submit(ringside_communicator* comm, const What& what,
                       const ringside_options* options, ringside_handle** handle) {
  if (handle != nullptr) *handle = nullptr;
  return guarded([&] {
    Communicator& communicator = communicator_of(comm);
    const CallOptions call_options = options_of(options);
    if (handle == nullptr) return communicator.submit(what, call_options);
    auto place = std::make_unique<ringside_handle>();
    place->handle = communicator.async().submit(what, call_options);
    *handle = place.release();
  });
}

std::span<const std::size_t> lengths(const std::size_t* blocks, std::size_t count) {
  return {blocks, blocks == nullptr ? 0 : count};
}

/// A call of a collective; those without an operator or a root pass RINGSIDE_SUM and 0.
ringside_status collective(Collective which, ringside_communicator* comm, const void* input,
                           void* output, std::span<const std::size_t> blocks, ringside_type type,
                           ringside_op op, int root, const ringside_options* options,
                           ringside_handle** handle) {
  return submit(comm,
                Arguments{which, input, output, blocks, static_cast<ElementType>(type),
                          static_cast<ReduceOp>(op), root},
                options, handle);
}

Message message(Message::Direction direction, int peer, const void* data, std::size_t elements,
                ringside_type type) {
  return {direction, peer, const_cast<void*>(data), elements, static_cast<ElementType>(type)};
}

Collective collective_of(int32_t number) {
  if (number < 0 || static_cast<std::size_t>(number) >= collective_names().size())
    throw Error(ErrorCode::invalid_argument, fmt::format("there is no collective {}", number));
  return static_cast<Collective>(number);
}

/// Gives the caller a text that `make` returns, cut to `size` bytes, and its full length.
template <class Make>
ringside_status tell(char* text, std::size_t size, std::size_t* length, const Make& make) {
  if (length != nullptr) *length = 0;
  if (text != nullptr && size > 0) *text = '\0';
  return guarded([&] {
    if (size > 0) demand(text, "the place for the text");
    const std::string made = make();
    if (length != nullptr) *length = made.size();
    if (size == 0) return;
    const std::size_t written = std::min(made.size(), size - 1);
    std::memcpy(text, made.data(), written);
    text[written] = '\0';
  });
}

}  // namespace
}  // namespace ringside

using namespace ringside;  // NOLINT(google-build-using-namespace): what follows is all C

const char* ringside_status_name(ringside_status status) {
  if (status == RINGSIDE_OK) return "ok";
  if (status < RINGSIDE_INVALID_ARGUMENT || status > RINGSIDE_CORRUPTED) return "unknown";
  return to_string(static_cast<ErrorCode>(status)).data();  // of literals: they end with a zero
}

const char* ringside_last_error(void) { return last_error.c_str(); }

const char* ringside_version(void) { return RINGSIDE_VERSION; }

ringside_status ringside_set_option(const char* name, const char* value) {
  return guarded([&] { set_option(&demand(name, "the name"), &demand(value, "the value")); });
}

ringside_status ringside_load_plugin(const char* path) {
  return guarded([&] { (void)load_plugin(&demand(path, "the path")); });
}

// --- worlds and communicators --------------------------------------------------------------------

ringside_status ringside_world_threads(int ranks, ringside_world** world) {
  if (world != nullptr) *world = nullptr;
  return guarded([&] {
    ringside_world*& place = demand(world, "the place for the world");
    place = new ringside_world{World::threads(ranks)};
  });
}

namespace {

ringside_status make_world(World (*make)(const std::vector<int>&), const int* devices, int ranks,
                           ringside_world** world) {
  if (world != nullptr) *world = nullptr;
  return guarded([&] {
    ringside_world*& place = demand(world, "the place for the world");
    if (ranks > 0) demand(devices, "the list of devices");
    place = new ringside_world{make({devices, devices + std::max(ranks, 0)})};
  });
}

}  // namespace

ringside_status ringside_world_cuda(const int* devices, int ranks, ringside_world** world) {
  return make_world(&World::cuda, devices, ranks, world);
}

ringside_status ringside_world_nccl(const int* devices, int ranks, ringside_world** world) {
  return make_world(&World::nccl, devices, ranks, world);
}

ringside_status ringside_world_run(ringside_world* world, ringside_body body, void* user) {
  return guarded([&] {
    demand(world, "the world");
    if (body == nullptr) throw Error(ErrorCode::invalid_argument, "the body is NULL");
    world->world.run([&](Communicator& communicator) {
      last_error.clear();
      ringside_communicator comm{&communicator, std::nullopt};
      const int status = body(&comm, user);
      if (status == RINGSIDE_OK) return;
      throw BodyStatus(status, last_error.empty()
                                   ? fmt::format("rank {} returned {}", communicator.rank(), status)
                                   : last_error);
    });
  });
}

int ringside_world_size(const ringside_world* world) {
  return world == nullptr ? -1 : world->world.size();
}

void ringside_world_destroy(ringside_world* world) { delete world; }

int ringside_rank(const ringside_communicator* comm) {
  return comm == nullptr ? -1 : comm->communicator->rank();
}

int ringside_size(const ringside_communicator* comm) {
  return comm == nullptr ? -1 : comm->communicator->size();
}

ringside_status ringside_split(ringside_communicator* comm, int color, int key,
                               ringside_communicator** part) {
  if (part != nullptr) *part = nullptr;
  return guarded([&] {
    demand(part, "the place for the part");
    auto made = std::make_unique<ringside_communicator>();
    made->owned = communicator_of(comm).split(color, key);
    if (!made->owned) return;
    made->communicator = &*made->owned;
    *part = made.release();
  });
}

ringside_status ringside_communicator_destroy(ringside_communicator* comm) {
  return guarded([&] {
    if (comm != nullptr && !comm->owned)
      throw Error(ErrorCode::invalid_argument, "a world's communicator ends with its run");
    delete comm;
  });
}

ringside_status ringside_abort(ringside_communicator* comm, const char* why) {
  return guarded([&] { communicator_of(comm).abort(&demand(why, "the reason")); });
}

// --- calls ---------------------------------------------------------------------------------------

ringside_status ringside_all_reduce(ringside_communicator* comm, const void* input, void* output,
                                    size_t elements, ringside_type type, ringside_op op,
                                    const ringside_options* options, ringside_handle** handle) {
  return collective(Collective::all_reduce, comm, input, output, lengths(&elements, 1), type, op, 0,
                    options, handle);
}

ringside_status ringside_reduce_scatter(ringside_communicator* comm, const void* input,
                                        void* output, const size_t* blocks, size_t block_count,
                                        ringside_type type, ringside_op op,
                                        const ringside_options* options, ringside_handle** handle) {
  return collective(Collective::reduce_scatter, comm, input, output, lengths(blocks, block_count),
                    type, op, 0, options, handle);
}

ringside_status ringside_all_gather(ringside_communicator* comm, const void* input, void* output,
                                    const size_t* blocks, size_t block_count, ringside_type type,
                                    const ringside_options* options, ringside_handle** handle) {
  return collective(Collective::all_gather, comm, input, output, lengths(blocks, block_count), type,
                    RINGSIDE_SUM, 0, options, handle);
}

ringside_status ringside_broadcast(ringside_communicator* comm, const void* input, void* output,
                                   size_t elements, ringside_type type, int root,
                                   const ringside_options* options, ringside_handle** handle) {
  return collective(Collective::broadcast, comm, input, output, lengths(&elements, 1), type,
                    RINGSIDE_SUM, root, options, handle);
}

ringside_status ringside_reduce(ringside_communicator* comm, const void* input, void* output,
                                size_t elements, ringside_type type, ringside_op op, int root,
                                const ringside_options* options, ringside_handle** handle) {
  return collective(Collective::reduce, comm, input, output, lengths(&elements, 1), type, op, root,
                    options, handle);
}

ringside_status ringside_gather(ringside_communicator* comm, const void* input, void* output,
                                const size_t* blocks, size_t block_count, ringside_type type,
                                int root, const ringside_options* options,
                                ringside_handle** handle) {
  return collective(Collective::gather, comm, input, output, lengths(blocks, block_count), type,
                    RINGSIDE_SUM, root, options, handle);
}

ringside_status ringside_scatter(ringside_communicator* comm, const void* input, void* output,
                                 const size_t* blocks, size_t block_count, ringside_type type,
                                 int root, const ringside_options* options,
                                 ringside_handle** handle) {
  return collective(Collective::scatter, comm, input, output, lengths(blocks, block_count), type,
                    RINGSIDE_SUM, root, options, handle);
}

ringside_status ringside_all_to_all(ringside_communicator* comm, const void* input, void* output,
                                    const size_t* blocks, size_t block_count, ringside_type type,
                                    const ringside_options* options, ringside_handle** handle) {
  return collective(Collective::all_to_all, comm, input, output, lengths(blocks, block_count), type,
                    RINGSIDE_SUM, 0, options, handle);
}

ringside_status ringside_barrier(ringside_communicator* comm, const ringside_options* options,
                                 ringside_handle** handle) {
  return submit(comm, Arguments{.collective = Collective::barrier}, options, handle);
}

ringside_status ringside_send(ringside_communicator* comm, const void* data, size_t elements,
                              ringside_type type, int to, const ringside_options* options,
                              ringside_handle** handle) {
  return submit(comm, message(Message::Direction::send, to, data, elements, type), options, handle);
}

ringside_status ringside_recv(ringside_communicator* comm, void* data, size_t elements,
                              ringside_type type, int from, const ringside_options* options,
                              ringside_handle** handle) {
  return submit(comm, message(Message::Direction::receive, from, data, elements, type), options,
                handle);
}

ringside_status ringside_algorithm_for(const ringside_communicator* comm, int32_t collective,
                                       size_t bytes, int in_place, const ringside_options* options,
                                       char* text, size_t size, size_t* length) {
  return tell(text, size, length, [&] {
    return communicator_of(comm).algorithm_for(collective_of(collective), bytes, in_place != 0,
                                               options_of(options));
  });
}

ringside_status ringside_explain(const ringside_communicator* comm, int32_t collective,
                                 size_t bytes, int in_place, const ringside_options* options,
                                 char* text, size_t size, size_t* length) {
  return tell(text, size, length, [&] {
    return communicator_of(comm).explain(collective_of(collective), bytes, in_place != 0,
                                         options_of(options));
  });
}

// --- handles and groups --------------------------------------------------------------------------

ringside_status ringside_wait(ringside_handle* handle) {
  return guarded([&] { demand(handle, "the handle").handle.wait(); });
}

ringside_status ringside_test(const ringside_handle* handle, int* done) {
  if (done != nullptr) *done = 0;
  return guarded([&] {
    demand(done, "the place for the answer") = demand(handle, "the handle").handle.done() ? 1 : 0;
  });
}

void ringside_handle_destroy(ringside_handle* handle) { delete handle; }

ringside_status ringside_group_start(void) { return guarded(group_start); }
ringside_status ringside_group_end(void) { return guarded(group_end); }
ringside_status ringside_group_discard(void) { return guarded(group_discard); }
