// SPDX-License-Identifier: MIT
/// The messages of an MPI as a Transport: the only source of the library that includes mpi.h,
/// compiled once for every MPI that the build finds.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/mpi/module/handles.hpp"
#include "ringside/collectives/executors/mpi/transport.hpp"

namespace ringside::mpi {
namespace {

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(
      ErrorCode::io,
      fmt::format("{}: {}", what, std::string(text.data(), static_cast<std::size_t>(length))));
}

/// Of an element; of a type that MPI has. (The library's own function is not in this module.)
std::size_t bytes_of(MPI_Datatype type) {
  int bytes = 0;
  check(MPI_Type_size(type, &bytes), "MPI_Type_size");
  return static_cast<std::size_t>(bytes);
}

/// A count of MPI has 31 bits: longer messages are one element of a type made for them.
class Bytes {
 public:
  explicit Bytes(std::size_t bytes) : count_(static_cast<int>(std::min(bytes, most))) {
    if (bytes <= most) return;
    MPI_Datatype whole = MPI_DATATYPE_NULL;
    const std::array<int, 2> lengths = {1, static_cast<int>(bytes % piece)};
    const std::array<MPI_Aint, 2> offsets = {0, static_cast<MPI_Aint>(bytes - bytes % piece)};
    MPI_Datatype piece_type = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(static_cast<int>(piece), MPI_BYTE, &piece_type),
          "MPI_Type_contiguous");
    check(MPI_Type_contiguous(static_cast<int>(bytes / piece), piece_type, &whole),
          "MPI_Type_contiguous");
    const std::array<MPI_Datatype, 2> types = {whole, MPI_BYTE};
    check(MPI_Type_create_struct(2, lengths.data(), offsets.data(), types.data(), &type_),
          "MPI_Type_create_struct");
    check(MPI_Type_commit(&type_), "MPI_Type_commit");
    MPI_Type_free(&piece_type);
    MPI_Type_free(&whole);
    own_ = true;
    count_ = 1;
  }
  ~Bytes() {
    if (own_) MPI_Type_free(&type_);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  static constexpr std::size_t most = std::size_t{1} << 30;
  static constexpr std::size_t piece = std::size_t{1} << 20;
  int count_;
  MPI_Datatype type_ = MPI_BYTE;
  bool own_ = false;
};

bool initialized_here = false;
std::optional<bool> finalize_wanted;  // nothing: it has not been said

/// MPI_Finalize waits for all processes. One that ends with an error before anybody has told the
/// others must not wait: the launcher ends the job when it sees such a process end.
void finalize(int status, void* /*unused*/) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (initialized_here && finalize_wanted.value_or(status == 0) && finalized == 0) MPI_Finalize();
}

int level_of(ThreadLevel level) {
  switch (level) {
    case ThreadLevel::single:
      return MPI_THREAD_SINGLE;
    case ThreadLevel::funneled:
      return MPI_THREAD_FUNNELED;
    case ThreadLevel::serialized:
      return MPI_THREAD_SERIALIZED;
    case ThreadLevel::multiple:
      break;
  }
  return MPI_THREAD_MULTIPLE;
}

class Messages final : public Transport {
 public:
  explicit Messages(ThreadLevel asked) {
    int initialized = 0;
    MPI_Initialized(&initialized);
    int level = MPI_THREAD_SINGLE;
    if (initialized == 0) {
      check(MPI_Init_thread(nullptr, nullptr, level_of(asked), &level), "MPI_Init_thread");
      initialized_here = true;
      ::on_exit(finalize, nullptr);
    } else {
      check(MPI_Query_thread(&level), "MPI_Query_thread");
    }
    any_thread_ = level == MPI_THREAD_MULTIPLE && asked == ThreadLevel::multiple;
    // Its own: no message of the program's is taken for one of ours.
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    int* most = nullptr;
    int found = 0;
    MPI_Comm_get_attr(comm_, MPI_TAG_UB, static_cast<void*>(&most), &found);
    if (found != 0) greatest_tag_ = *most;
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] bool any_thread() const override { return any_thread_; }
  [[nodiscard]] int greatest_tag() const override { return greatest_tag_; }

  [[nodiscard]] std::string library() const override {
#if defined(OPEN_MPI)
    return fmt::format("Open MPI {}.{}.{}", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                       OMPI_RELEASE_VERSION);
#elif defined(MPICH_VERSION)
    return "MPICH " MPICH_VERSION;
#else
    return "MPI";
#endif
  }

  void all_gather(const void* mine, void* all, std::size_t bytes, Seconds limit) override {
    struct Memory {
      std::vector<std::byte> mine, all;
    };
    const auto* const begin = static_cast<const std::byte*>(mine);
    auto memory = std::make_unique<Memory>(
        Memory{std::vector<std::byte>(begin, begin + bytes),
               std::vector<std::byte>(bytes * static_cast<std::size_t>(size_))});
    const Bytes count(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallgather(memory->mine.data(), count.count(), count.type(), memory->all.data(),
                         count.count(), count.type(), comm_, &request),
          "MPI_Iallgather");
    const Stopwatch since;
    for (int over = 0; over == 0;) {
      check(MPI_Test(&request, &over, MPI_STATUS_IGNORE), "MPI_Test");
      if (over == 0 && since.elapsed() > limit) {
        (void)memory.release();  // the MPI's from now on: such a request cannot be taken back
        throw Error(
            ErrorCode::timeout,
            fmt::format("not all of the {} processes have come to make the world within {} s",
                        size_, limit.count()))
            .at_rank(rank_);
      }
      constexpr Seconds short_wait{1e-3};
      if (since.elapsed() < short_wait)
        std::this_thread::yield();
      else if (over == 0)
        std::this_thread::sleep_for(short_wait / 10);
    }
    std::copy(memory->all.begin(), memory->all.end(), static_cast<std::byte*>(all));
  }

  [[nodiscard]] Ticket send(const void* data, std::size_t bytes, int to, int tag) override {
    const Bytes count(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(data, count.count(), count.type(), to, tag, comm_, &request), "MPI_Isend");
    return ticket(request);
  }

  [[nodiscard]] Ticket receive(void* data, std::size_t bytes, int from, int tag) override {
    const Bytes count(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(data, count.count(), count.type(), from, tag, comm_, &request), "MPI_Irecv");
    return ticket(request);
  }

  [[nodiscard]] bool done(Ticket& ticket) override {
    if (!ticket.active) return true;
    MPI_Request request = request_of(ticket);
    int flag = 0;
    check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    if (flag == 0) return false;
    ticket = {};
    return true;
  }

  void drop(Ticket& ticket) override {
    if (!ticket.active) return;
    MPI_Request request = request_of(ticket);
    ticket = {};
    MPI_Cancel(&request);
    // A receive that was matched before ends soon; one end that has died never.
    constexpr std::chrono::milliseconds patience(20);
    const auto begin = std::chrono::steady_clock::now();
    int over = 0;
    while (over == 0 && std::chrono::steady_clock::now() - begin < patience)
      if (MPI_Test(&request, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    if (over == 0) MPI_Request_free(&request);
  }

  [[nodiscard]] Incoming incoming(int tag) override {
    int flag = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, &flag, &status), "MPI_Iprobe");
    if (flag == 0) return {-1, 0};
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    return {status.MPI_SOURCE, static_cast<std::size_t>(count)};
  }

  [[nodiscard]] bool all_reduce(const void* in, void* out, std::size_t elements, ElementType type,
                                ReduceOp op) override {
    MPI_Datatype of = datatype(type);
    MPI_Op by = operation(op);
    if (of == MPI_DATATYPE_NULL || by == MPI_OP_NULL) return false;
    constexpr std::size_t most = std::size_t{1} << 30;
    const auto* from = static_cast<const char*>(in);
    auto* to = static_cast<char*>(out);
    for (std::size_t at = 0; at < elements || elements == 0; at += most) {
      const std::size_t offset = at * bytes_of(of);
      check(MPI_Allreduce(in == out ? MPI_IN_PLACE : from + offset, to + offset,
                          static_cast<int>(std::min(most, elements - at)), of, by, comm_),
            "MPI_Allreduce");
      if (elements == 0) break;
    }
    return true;
  }

  void barrier() override { check(MPI_Barrier(comm_), "MPI_Barrier"); }

  void finalize_at_exit(bool wanted) override { finalize_wanted = wanted; }

 private:
  static_assert(sizeof(MPI_Request) <= sizeof(std::uint64_t));
  static Ticket ticket(MPI_Request request) {
    Ticket made;
    made.active = request != MPI_REQUEST_NULL;
    std::memcpy(&made.request, &request, sizeof(MPI_Request));
    return made;
  }
  static MPI_Request request_of(const Ticket& ticket) {
    MPI_Request request = MPI_REQUEST_NULL;
    std::memcpy(static_cast<void*>(&request), &ticket.request, sizeof(MPI_Request));
    return request;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  int greatest_tag_ = 32767;  // what the standard promises
  bool any_thread_ = false;
};

}  // namespace
}  // namespace ringside::mpi

extern "C" ringside::mpi::Transport* ringside_mpi_transport(ringside::mpi::ThreadLevel asked,
                                                            char* what, std::size_t room) {
  try {
    return std::make_unique<ringside::mpi::Messages>(asked).release();
  } catch (const std::exception& error) {
    std::snprintf(what, room, "%s", error.what());
    return nullptr;
  }
}
