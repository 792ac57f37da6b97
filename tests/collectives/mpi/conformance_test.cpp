// SPDX-License-Identifier: MIT
/// Ranks that are processes, on one host or several, have the bits of the reference interpreter
/// (and so of the host executor): every collective by every algorithm, in slices and lanes, of any
/// type and operator, from buffers of either kind, in calls that follow one another without a
/// barrier.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/tests/collectives/host/calls_to_try.hpp"
#include "ringside/tests/collectives/host/tried_call.hpp"
#include "ringside/tests/collectives/mpi/mpi_main.hpp"
#include "ringside/tests/support/elements.hpp"

namespace ringside::tests {
namespace {

/// Makes the call, from buffers in shared memory if there is any; returns what the rank's memory
/// then is.
std::vector<std::byte> memory_after(Communicator& comm, const TriedCall& call, Round round,
                                    RankMemory& memory, const SharedMemory& shared) {
  memory.fill(round);
  Arguments arguments = memory.arguments();
  if (shared.bytes().empty()) {
    comm.submit(arguments, call.options(round));
    return memory.bytes();
  }
  const std::vector<std::byte>& from = memory.bytes();
  std::byte* const to = shared.bytes().data();
  std::memcpy(to, from.data(), from.size());
  const auto moved = [&](const void* at) -> std::byte* {
    const auto* byte = static_cast<const std::byte*>(at);
    if (byte < from.data() || byte > from.data() + from.size()) return const_cast<std::byte*>(byte);
    return to + (byte - from.data());
  };
  arguments.input = moved(arguments.input);
  arguments.output = moved(arguments.output);
  comm.submit(arguments, call.options(round));
  return {to, to + from.size()};
}

/// Both rounds; returns what is wrong, or nothing.
std::string run_call(Communicator& comm, const TriedCall& call, const Plan& plan, bool in_shared) {
  RankMemory memory(call, comm.rank());
  SharedMemory shared;
  if (in_shared) shared = comm.shared_memory(memory.bytes().size());
  const auto rank = static_cast<std::size_t>(comm.rank());
  std::array<std::vector<std::byte>, rounds> after;
  for (int round = 0; round < rounds; ++round) try {
      after[static_cast<std::size_t>(round)] =
          memory_after(comm, call, static_cast<Round>(round), memory, shared);
    } catch (const Error& error) {
      return fmt::format("{}: rank {}: {}", describe(call), rank, error.what());
    }
  for (int round = 0; round < rounds; ++round) {
    const auto expected = by_reference(call, plan, static_cast<Round>(round))[rank];
    if (const auto what = memory.difference(after[static_cast<std::size_t>(round)], expected);
        !what.empty())
      return fmt::format("{}: rank {}, call {}: {} differs", describe(call), rank, round, what);
  }
  return {};
}

enum class Buffers { are_private, are_shared, differ };

void run_calls(const std::vector<TriedCall>& calls, Buffers buffers) {
  std::map<std::tuple<std::string, int, int, bool>, Plan> plans;
  for (const auto& call : calls) {
    const Request& r = call.request;
    plans.try_emplace({call.spec, static_cast<int>(r.collective), r.root, r.in_place},
                      make_plan(call.spec, r));
  }
  std::vector<std::string> faults;
  mpi_world().run([&](Communicator& comm) {
    for (const auto& call : calls) {
      const Request& r = call.request;
      const bool shared = buffers == Buffers::are_shared ||
                          (buffers == Buffers::differ && (call.seed + mpi_rank()) % 3 != 0);
      const auto fault = run_call(
          comm, call, plans.at({call.spec, static_cast<int>(r.collective), r.root, r.in_place}),
          shared);
      if (!fault.empty()) faults.push_back(fault);
    }
  });
  for (std::size_t i = 0; i < faults.size() && i < 5; ++i) ADD_FAILURE() << faults[i];
  EXPECT_EQ(faults.size(), 0u);
  EXPECT_GT(calls.size(), 5u);
  if (mpi_rank() == 0) fmt::print("mpi conformance: {} calls, each made twice\n", calls.size());
}

/// Every `share`-th call of every algorithm, of all ranks; lengths, cuts, types and operators take
/// turns.
std::vector<TriedCall> some_calls(std::size_t share, bool cut) {
  std::vector<TriedCall> calls;
  Dealer deal;
  std::size_t count = 0;
  const int ranks = mpi_world().size();
  for_each_algorithm(ranks, [&](Request request, const std::string& spec) {
    const auto number = deal.number();
    if (spec == "auto" || count++ % share != share / 2) return;
    request.root = deal.root(request.collective, ranks);
    calls.push_back(deal.call(request, cut ? with_cut(spec, cuts[number % cuts.size()]) : spec,
                              deal.type(), deal.op(request.collective), deal.way(request)));
  });
  return calls;
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
