// SPDX-License-Identifier: MIT
/// Times the collectives of an MPI library. Not run by hand: the benchmark starts it under mpirun,
/// with the cores for its ranks ("0,1"; "-": any) as its argument, and talks to it as protocol.hpp
/// says. Uses MPI's C interface only; built once for Open MPI and once for MPICH.
#include <fmt/format.h>
#include <mpi.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <limits>
#include <new>
#include <optional>
#include <string>

#include "ringside/bench/peers/peer_rank.hpp"
#include "ringside/collectives/executors/mpi/module/handles.hpp"

// MPI's handles are pointers in Open MPI and numbers in MPICH: const ones are meant.
// NOLINTBEGIN(misc-misplaced-const)
namespace ringside::bench {
namespace {

std::optional<std::string> refusal(const PeerCommand& command) {
  if (mpi::datatype(command.type) == MPI_DATATYPE_NULL)
    return fmt::format("MPI has no type {}", to_string(command.type));
  if (mpi::operation(command.op) == MPI_OP_NULL)
    return fmt::format("MPI has no operator {}", to_string(command.op));
  if (command.collective == Collective::broadcast && command.placement == Placement::out_of_place)
    return "MPI_Bcast is always in place";
#ifdef MPICH_VERSION  // seen in 4.0.2
  if (command.collective == Collective::reduce && command.root != 0 &&
      command.placement == Placement::in_place)
    return "MPICH crashes in MPI_Reduce in place at a root other than 0";
#endif
  if (command.count > std::numeric_limits<int>::max())
    return fmt::format("a call of MPI takes at most {} elements", std::numeric_limits<int>::max());
  return std::nullopt;
}

class MpiLibrary {
 public:
  MpiLibrary() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

  template <class Use>
  void with_call(const PeerCommand& command, std::byte* input, std::byte* output, const Use& use) {
    const int count = static_cast<int>(command.count);
    const int root = command.root;
    const MPI_Datatype type = mpi::datatype(command.type);
    const MPI_Op op = mpi::operation(command.op);
    const bool at_root = rank_ == root;
    const bool in_place = command.placement == Placement::in_place;
    const MPI_Comm world = MPI_COMM_WORLD;
    const void* const send = in_place ? MPI_IN_PLACE : input;  // where every rank may be in place
    const void* const send_to_root = in_place && at_root ? MPI_IN_PLACE : input;
    switch (command.collective) {
      case Collective::all_reduce:
        return use([=] { MPI_Allreduce(send, output, count, type, op, world); });
      case Collective::reduce_scatter:
        return use([=] { MPI_Reduce_scatter_block(send, output, count, type, op, world); });
      case Collective::all_gather:
        return use([=] { MPI_Allgather(send, count, type, output, count, type, world); });
      case Collective::broadcast:
        return use([=] { MPI_Bcast(output, count, type, root, world); });
      case Collective::reduce:
        return use([=] { MPI_Reduce(send_to_root, output, count, type, op, root, world); });
      case Collective::gather:
        return use(
            [=] { MPI_Gather(send_to_root, count, type, output, count, type, root, world); });
      case Collective::scatter: {
        void* const receive = in_place && at_root ? MPI_IN_PLACE : output;
        return use([=] { MPI_Scatter(input, count, type, receive, count, type, root, world); });
      }
      case Collective::all_to_all:
        return use([=] { MPI_Alltoall(send, count, type, output, count, type, world); });
      case Collective::barrier:
        return use([=] { MPI_Barrier(world); });
    }
  }

  std::uint64_t sum(std::uint64_t own) {
    std::uint64_t all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }
  double cpu_seconds(double own) {
    double all = 0;
    MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return all;
  }
  std::vector<std::vector<double>> gather(const std::vector<double>& own) {
    const int each = static_cast<int>(own.size());
    std::vector<double> flat(rank_ == 0 ? own.size() * static_cast<std::size_t>(ranks_) : 0);
    MPI_Gather(own.data(), each, MPI_DOUBLE, flat.data(), each, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    std::vector<std::vector<double>> all;
    for (auto from = flat.begin(); from != flat.end(); from += each)
      all.emplace_back(from, from + each);
    return all;
  }

 private:
  int rank_ = 0, ranks_ = 1;
};

/// Where rank 0 leaves commands for the others, which sleep until there is one: waiting in a call
/// of MPI would poll.
class Notice {
 public:
  explicit Notice(int rank) {
    const MPI_Aint bytes = rank == 0 ? sizeof(Board) : 0;
    void* own = nullptr;
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window_);
    MPI_Aint size = 0;
    int unit = 0;
    void* of_rank_0 = nullptr;
    MPI_Win_shared_query(window_, 0, &size, &unit, &of_rank_0);
    if (rank == 0) new (of_rank_0) Board();
    board_ = static_cast<Board*>(of_rank_0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~Notice() { MPI_Win_free(&window_); }
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;

  /// Rank 0.
  void post(const PeerCommand& command) {
    board_->command = command;
    ++seen_;
    board_->number.store(seen_, std::memory_order_release);
    futex_wake_all(board_->number, FutexScope::processes);
  }
  /// The others. They answer each command before the next is posted.
  PeerCommand wait() {
    while (board_->number.load(std::memory_order_acquire) == seen_)
      futex_wait(board_->number, seen_, Seconds(3600), FutexScope::processes);
    ++seen_;
    return board_->command;
  }

 private:
  struct Board {
    std::atomic<std::uint32_t> number{0};
    PeerCommand command;
  };
  MPI_Win window_ = MPI_WIN_NULL;
  Board* board_ = nullptr;
  std::uint32_t seen_ = 0;
};

/// "Open MPI v4.1.4", "MPICH 4.0.2" of a version text that goes on for lines.
std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string name(text, std::strcspn(text, ",\n"));
#ifdef MPICH_VERSION
  name = "MPICH " MPICH_VERSION;
#endif
  return name;
}

void serve(const std::string& cores) {
  MpiLibrary library;
  pin_rank(cores, library.rank());
  Notice notice(library.rank());
  PeerRank rank(library);
  if (library.rank() != 0) {
    for (auto command = notice.wait(); command.verb != PeerCommand::Verb::quit;
         command = notice.wait())
      (void)rank.run(command);
    return;
  }
  serve_lines(library_name(), library.ranks(), refusal, [&](const PeerCommand& command) {
    notice.post(command);
    return command.verb == PeerCommand::Verb::run ? rank.run(command) : std::string();
  });
}

}  // namespace
}  // namespace ringside::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    ringside::bench::serve(argc > 1 ? argv[1] : "-");
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return 0;
}
// NOLINTEND(misc-misplaced-const)
