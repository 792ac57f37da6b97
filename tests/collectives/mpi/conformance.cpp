// SPDX-License-Identifier: MIT
#include "ringside/tests/collectives/mpi/conformance.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/tests/collectives/host/calls_to_try.hpp"
#include "ringside/tests/collectives/mpi/mpi_main.hpp"

namespace ringside::tests {
namespace {

/// Makes the call; returns what the rank's memory then is.
std::vector<std::byte> memory_after(Communicator& comm, const TriedCall& call, Round round,
                                    RankMemory& memory, const CallMemory& where) {
  memory.fill(round);
  Arguments arguments = memory.arguments();
  if (where.data == nullptr) {
    comm.submit(arguments, call.options(round));
    return memory.bytes();
  }
  const std::vector<std::byte>& from = memory.bytes();
  where.copy(where.data, from.data(), from.size());
  const auto moved = [&](const void* at) -> std::byte* {
    const auto* byte = static_cast<const std::byte*>(at);
    if (byte < from.data() || byte > from.data() + from.size()) return const_cast<std::byte*>(byte);
    return where.data + (byte - from.data());
  };
  arguments.input = moved(arguments.input);
  arguments.output = moved(arguments.output);
  comm.submit(arguments, call.options(round));
  std::vector<std::byte> after(from.size());
  where.copy(after.data(), where.data, after.size());
  return after;
}

/// Both rounds; returns what is wrong, or nothing.
std::string run_call(Communicator& comm, const TriedCall& call, const Plan& plan,
                     const MemoryFor& memory_for) {
  RankMemory memory(call, comm.rank());
  const CallMemory where = memory_for(comm, call, memory.bytes().size());
  const auto rank = static_cast<std::size_t>(comm.rank());
  std::array<std::vector<std::byte>, rounds> after;
  for (int round = 0; round < rounds; ++round) try {
      after[static_cast<std::size_t>(round)] =
          memory_after(comm, call, static_cast<Round>(round), memory, where);
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

}  // namespace

void run_calls(World& world, const std::vector<TriedCall>& calls, const MemoryFor& memory_for) {
  std::map<std::tuple<std::string, int, int, bool>, Plan> plans;
  for (const auto& call : calls) {
    const Request& r = call.request;
    plans.try_emplace({call.spec, static_cast<int>(r.collective), r.root, r.in_place},
                      make_plan(call.spec, r));
  }
  std::vector<std::string> faults;
  world.run([&](Communicator& comm) {
    for (const auto& call : calls) {
      const Request& r = call.request;
      const auto fault = run_call(
          comm, call, plans.at({call.spec, static_cast<int>(r.collective), r.root, r.in_place}),
          memory_for);
      if (!fault.empty()) faults.push_back(fault);
    }
  });
  for (std::size_t i = 0; i < faults.size() && i < 5; ++i) ADD_FAILURE() << faults[i];
  EXPECT_EQ(faults.size(), 0u);
  EXPECT_GT(calls.size(), 5u);
  if (mpi_rank() == 0) fmt::print("mpi conformance: {} calls, each made twice\n", calls.size());
}

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

}  // namespace ringside::tests
