// SPDX-License-Identifier: MIT
/// Ranks that are processes, on one host or several, have the bits of the reference interpreter
/// (and so of the host executor): every collective by every algorithm, in slices and lanes, of any
/// type and operator, from buffers of either kind, in calls that follow one another without a
/// barrier.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/tests/collectives/mpi/conformance.hpp"
#include "ringside/tests/collectives/mpi/mpi_main.hpp"

namespace ringside::tests {
namespace {

enum class Buffers { are_private, are_shared, differ };

void run_calls(const std::vector<TriedCall>& calls, Buffers buffers) {
  tests::run_calls(
      mpi_world(), calls, [&](Communicator& comm, const TriedCall& call, std::size_t bytes) {
        CallMemory memory;
        const bool shared = buffers == Buffers::are_shared ||
                            (buffers == Buffers::differ && (call.seed + mpi_rank()) % 3 != 0);
        if (!shared) return memory;
        auto owner = std::make_shared<SharedMemory>(comm.shared_memory(bytes));
        memory.data = owner->bytes().data();
        memory.owner = std::move(owner);
        memory.copy = [](std::byte* to, const std::byte* from, std::size_t count) {
          std::memcpy(to, from, count);
        };
        return memory;
      });
}

std::size_t share_for_ranks() { return mpi_world().size() > 4 ? 4 : 2; }

TEST(MpiConformance, EveryAlgorithmFromPrivateBuffersThroughSharedMemory) {
  const ScopedOption plans_only("mpi_inline", "0");
  const ScopedOption staged("mpi_copies", "staged");
  run_calls(some_calls(share_for_ranks(), true), Buffers::are_private);
}

TEST(MpiConformance, EveryAlgorithmFromPrivateBuffersBySingleCopies) {
  const ScopedOption plans_only("mpi_inline", "0");
  const ScopedOption single("mpi_copies", "single");
  run_calls(some_calls(share_for_ranks() + 1, true), Buffers::are_private);
}

TEST(MpiConformance, EveryAlgorithmFromSharedBuffers) {
  const ScopedOption plans_only("mpi_inline", "0");
  run_calls(some_calls(share_for_ranks() + 1, true), Buffers::are_shared);
}

TEST(MpiConformance, RanksMayDifferInTheKindOfTheirBuffers) {
  const ScopedOption plans_only("mpi_inline", "0");
  run_calls(some_calls(9, false), Buffers::differ);
}

TEST(MpiConformance, MessagesThatTravelInTheCall) {
  run_calls(some_calls(5, false), Buffers::are_private);
}

TEST(MpiConformance, LargeMessages) {
  auto calls = some_calls(7, true);
  for (auto& call : calls) {
    call.blocks = {100'003 / static_cast<std::size_t>(block_count(call.request))};
    call.type = ElementType::float32;
  }
  run_calls(calls, Buffers::are_private);
}

// On one host, copies from process to process are sliced when all ranks' buffers together have 16
// MiB; some of these plans then have more lanes than without slices.
TEST(MpiConformance, MessagesSoLongThatTheirCopiesAreSliced) {
  const int ranks = mpi_world().size();
  const std::size_t elements =
      (std::size_t{16} << 20) / sizeof(double) / static_cast<std::size_t>(ranks) + 5;
  std::vector<TriedCall> calls;
  for (const char* spec : {"ring", "two_shot", "halving_doubling", "chain", "double_tree", "naive"})
    calls.push_back({.request = {Collective::all_reduce, ranks, 0, calls.size() % 2 == 0},
                     .spec = spec,
                     .blocks = {elements},
                     .type = ElementType::float64,
                     .op = ReduceOp::sum,
                     .seed = calls.size()});
  run_calls(calls, Buffers::are_private);
}

}  // namespace
}  // namespace ringside::tests
