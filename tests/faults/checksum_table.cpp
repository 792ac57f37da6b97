// SPDX-License-Identifier: MIT
#include "ringside/tests/faults/checksum_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>

#include "ringside/base/options.hpp"
#include "ringside/collectives/executors/host/checks.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

constexpr int ranks = 3;
constexpr std::array collectives = {
    Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
    Collective::broadcast,  Collective::reduce,         Collective::gather,
    Collective::scatter,    Collective::all_to_all,     Collective::barrier};
/// A block that is short enough to travel in the call without checksums, and one that is not.
constexpr std::array<std::size_t, 2> lengths = {3, 5000};
/// What errors may take on a crowded machine.
constexpr Seconds generous{20.0};

std::atomic<bool> spoils_next{false};

void spoil_once(int /*rank*/, std::size_t /*op*/, std::byte* data, std::size_t bytes) {
  if (spoils_next.exchange(false)) data[bytes / 2] ^= std::byte{0x10};
}

/// What is not as it must be, of all ranks of a world here.
class Faults {
 public:
  void note(int rank, const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = fmt::format("rank {}: {}", rank, what);
  }
  void demand(bool holds, int rank, const std::string& what) {
    if (!holds) note(rank, what);
  }
  [[nodiscard]] const std::optional<std::string>& first() const { return first_; }

 private:
  std::mutex mutex_;
  std::optional<std::string> first_;
};

Outcome make(Communicator& comm, CallMemory& memory) {
  return outcome_of([&] { comm.submit(memory.arguments(), {.timeout = generous}); });
}

/// Calls without a fault, two on end: nothing is found, and all is right.
void run_well(const FaultyExecutor& executor, const UniformCall& call, Faults& faults) {
  World world = executor.world(ranks);
  world.run([&](Communicator& comm) {
    for (int i = 0; i < 2; ++i) {
      const auto memory = executor.memory(call, comm.rank(), comm.size());
      const auto told = make(comm, *memory);
      faults.demand(!told.code, comm.rank(), "without a fault: " + told.what);
      faults.demand(memory->right(), comm.rank(), "without a fault the result is wrong");
    }
  });
}

void run_spoiled(const FaultyExecutor& executor, const UniformCall& call,
                 const std::function<void(bool)>& spoil, Faults& faults) {
  World world = executor.world(ranks);
  world.run([&](Communicator& comm) {
    const auto memory = executor.memory(call, comm.rank(), comm.size());
    if (comm.rank() == world.first_rank_here()) spoil(true);
    comm.barrier();
    const auto told = make(comm, *memory);
    const auto demand = [&](bool holds, const std::string& what) {
      faults.demand(holds, comm.rank(), what + ": " + told.what);
    };
    demand(told.code == ErrorCode::corrupted, "it is told something else");
    demand(told.says("the bytes that arrived differ from those sent"), "it is not said what is");
    demand(told.says(std::string(to_string(call.collective))), "the collective is not named");
    demand(told.says("stored by op "), "the op is not named");
    demand(told.rank == comm.rank(), "the rank is not named");
    const auto later = make(comm, *memory);
    faults.demand(later.code == ErrorCode::failed && later.says("differ from those sent"),
                  comm.rank(), "a later call: " + later.what);
  });
  spoil(false);
}

}  // namespace

void spoil_next_chunk(bool spoils) {
  spoils_next = spoils;
  host::tampering() = spoils ? spoil_once : nullptr;
}

std::string run_checksum_table(const FaultyExecutor& executor,
                               const std::function<void(bool)>& spoil) {
  int cells = 0, held = 0;
  const auto run = [&](const UniformCall& call, const char* what, const auto& body) {
    Faults faults;
    body(faults);
    ++cells;
    held += faults.first() ? 0 : 1;
    if (faults.first())
      ADD_FAILURE() << executor.name << ", " << what << ", " << to_string(call.collective) << " of "
                    << call.block << ": " << *faults.first();
  };
  for (const Collective collective : collectives)
    for (const std::size_t length : lengths) {
      const bool has_data = collective != Collective::barrier;
      if (!has_data && length != lengths.front()) continue;
      const UniformCall call{collective, has_data ? length : 0, 0, {}, length};
      const ScopedOption checksum("checksum", "1");
      if (has_data)
        run(call, "a corrupted chunk",
            [&](Faults& faults) { run_spoiled(executor, call, spoil, faults); });
      // A new world works at once.
      run(call, "no fault", [&](Faults& faults) { run_well(executor, call, faults); });
    }
  return fmt::format("{}, {} ranks, with checksums: {} of {} cells held\n", executor.name, ranks,
                     held, cells);
}

}  // namespace ringside::tests
