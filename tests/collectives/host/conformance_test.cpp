// SPDX-License-Identifier: MIT
/// The host executor equals the reference interpreter bit for bit, and both equal the collectives'
/// definitions: every collective by every algorithm, number of ranks, root, placement, type,
/// operator, block lengths, slices and lanes, in calls that follow one another without a barrier
/// and reuse their buffers at once. `--full` runs every type and operator on every variant of an
/// algorithm, block lengths and roots taking turns; otherwise a fair sample.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/executors/host/shared.hpp"
#include "ringside/collectives/executors/host/small_message.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/prover.hpp"
#include "ringside/collectives/selector/choice.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/host/calls_to_try.hpp"
#include "ringside/tests/collectives/host/tried_call.hpp"
#include "ringside/tests/support/elements.hpp"

namespace ringside::tests {
namespace {

bool full_run = false;

// --- running calls -------------------------------------------------------------------------------

/// The spec that the call runs, `auto` resolved.
std::string spec_of(const TriedCall& call) {
  if (call.spec != "auto") return call.spec;
  std::size_t elements = std::accumulate(call.blocks.begin(), call.blocks.end(), std::size_t{0});
  if (call.blocks.size() == 1) elements *= static_cast<std::size_t>(block_count(call.request));
  return choose(*tuning_in_use(), {"host", allowed_cpu_count()}, call.request,
                elements * size_of(call.type))
      .spec;
}

/// The plans of the calls under test, made once.
class Plans {
 public:
  const Plan& of(const TriedCall& call) {
    const Request& r = call.request;
    const std::string spec = spec_of(call);
    auto& plan = plans_[{spec, static_cast<int>(r.collective), r.ranks, r.root, r.in_place}];
    if (!plan) plan = std::make_unique<Plan>(make_plan(spec, r));
    return *plan;
  }

 private:
  std::map<std::tuple<std::string, int, int, int, bool>, std::unique_ptr<Plan>> plans_;
};

/// What all ranks' memory must be after either round.
using Expected = std::array<std::vector<std::vector<std::byte>>, rounds>;

Expected expectation(const TriedCall& call, const Plan& plan) {
  Expected expected;
  for (int number = 0; number < rounds; ++number) {
    const auto round = static_cast<Round>(number);
    auto& memory = expected[static_cast<std::size_t>(number)];
    memory = by_reference(call, plan, round);
    if (!is_defined(call, round)) continue;
    const auto defined = by_definition(call, round);
    for (int rank = 0; rank < call.request.ranks; ++rank) {
      const auto i = static_cast<std::size_t>(rank);
      if (const auto what = RankMemory(call, rank).difference(memory[i], defined[i]); !what.empty())
        ADD_FAILURE() << describe(call) << ": the reference has not what the definition says: rank "
                      << rank << ", " << what;
    }
  }
  return expected;
}

/// Both rounds, the buffers reused at once; returns what is wrong, or nothing.
std::string run_call(Communicator& comm, const TriedCall& call, const Expected& expected) {
  RankMemory memory(call, comm.rank());
  const auto rank = static_cast<std::size_t>(comm.rank());
  std::array<std::vector<std::byte>, rounds> after;
  for (int round = 0; round < rounds; ++round) {
    memory.fill(static_cast<Round>(round));
    try {
      comm.submit(memory.arguments(), call.options(static_cast<Round>(round)));
    } catch (const Error& error) {
      return fmt::format("{}: rank {}: {}", describe(call), rank, error.what());
    }
    after[static_cast<std::size_t>(round)] = memory.bytes();
  }
  for (std::size_t round = 0; round < rounds; ++round)
    if (const auto what = memory.difference(after[round], expected[round][rank]); !what.empty())
      return fmt::format("{}: rank {}, call {}: {} differs", describe(call), rank, round, what);
  return {};
}

void run_batch(int ranks, std::span<const TriedCall> calls, Plans& plans) {
  std::vector<Expected> expected;
  for (const auto& call : calls) expected.push_back(expectation(call, plans.of(call)));
  std::mutex mutex;
  std::vector<std::string> faults;
  World::threads(ranks).run([&](Communicator& comm) {
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (const auto fault = run_call(comm, calls[i], expected[i]); !fault.empty()) {
        const std::lock_guard lock(mutex);
        faults.push_back(fault);
      }
  });
  for (std::size_t i = 0; i < faults.size() && i < 5; ++i) ADD_FAILURE() << faults[i];
  EXPECT_EQ(faults.size(), 0u);
}

/// Runs calls of so many ranks, in batches whose expectations fit in memory.
void run_calls(int ranks, const std::vector<TriedCall>& calls) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  Plans plans;
  for (std::size_t begin = 0; begin < calls.size();) {
    std::size_t end = begin;
    for (std::size_t bytes = 0; end < calls.size() && (end == begin || bytes < most_bytes); ++end)
      bytes += calls[end].bytes() * rounds;
    run_batch(ranks, std::span(calls).subspan(begin, end - begin), plans);
    begin = end;
  }
}

void print_count(std::size_t count, const char* what) {
  fmt::print("host conformance: {} {}, each made twice on all ranks\n", count, what);
}

// --- tests ---------------------------------------------------------------------------------------

TEST(HostConformance, EveryAlgorithmWithAnySlicesAndLanes) {
  const ScopedOption plans_only("inline", "0");  // also for messages that would fit in an entry
  std::vector<int> rank_counts = {1, 2, 3, 4, 5, 8};
  if (full_run) rank_counts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
  std::size_t count = 0;
  Dealer deal;
  for (const int ranks : rank_counts) {
    std::vector<TriedCall> calls;
    for_each_algorithm(ranks, [&](Request request, const std::string& spec) {
      const Collective collective = request.collective;
      for (const auto& cut : cuts) {
        if (spec == "auto" && cut.slices > 0) break;
        // Many ranks on few cores wait for long: fewer of them.
        if (!full_run && ranks > 4 && mix(deal.number()) % 3 != 0) continue;
        const auto text = with_cut(spec, cut);
        request.root = deal.root(collective, ranks);
        if (!full_run) {
          calls.push_back(
              deal.call(request, text, deal.type(), deal.op(collective), deal.way(request)));
          continue;
        }
        for (const auto type : all_element_types)
          for (const auto op : ops_of(collective)) {
            request.root = deal.root(collective, ranks);
            calls.push_back(deal.call(request, text, type, op, deal.way(request)));
          }
      }
    });
    run_calls(ranks, calls);
    count += calls.size();
  }
  print_count(count, "calls of algorithms in slices and lanes");
}

TEST(HostConformance, EveryTypeAndOperatorOnEveryAlgorithm) {
  const ScopedOption plans_only("inline", "0");
  std::size_t count = 0;
  Dealer deal;
  for (const int ranks : {3, 4}) {
    std::vector<TriedCall> calls;
    for_each_algorithm(ranks, [&](Request request, const std::string& spec) {
      for (const auto type : all_element_types)
        for (const auto op : ops_of(request.collective)) {
          const auto number = deal.number();
          if (request.in_place != (mix(number) % 2 == 0) &&
              request.collective != Collective::all_to_all)
            continue;
          request.root = deal.root(request.collective, ranks);
          calls.push_back(deal.call(request, spec, type, op, deal.way(request)));
        }
    });
    run_calls(ranks, calls);
    count += calls.size();
  }
  print_count(count, "calls of algorithm x type x operator");
}

TEST(HostConformance, EveryRootAndEveryKindOfBlockLengths) {
  const ScopedOption plans_only("inline", "0");
  std::size_t count = 0;
  Dealer deal;
  for (const int ranks :
       full_run ? std::vector{1, 2, 3, 4, 5, 6, 7, 8, 9, 16} : std::vector{2, 5}) {
    std::vector<TriedCall> calls;
    for_each_algorithm(ranks, [&](Request request, const std::string& spec) {
      const int roots = has_root(request.collective) ? ranks : 1;
      for (request.root = 0; request.root < roots; ++request.root)
        for (int way = 0; way < length_ways(request); ++way)
          calls.push_back(deal.call(request, spec, deal.type(), deal.op(request.collective), way));
    });
    run_calls(ranks, calls);
    count += calls.size();
  }
  print_count(count, "calls of algorithm x root x block lengths");
}

/// Whether the messages of such a call travel in the entries.
bool is_inline(const TriedCall& call, std::size_t most) {
  static std::map<std::tuple<std::string, Collective, int, int, bool>, ProofFacts> known;
  const Request& r = call.request;
  const std::string spec = spec_of(call);
  const std::tuple key(spec, r.collective, r.ranks, r.root, r.in_place);
  if (!known.contains(key)) known[key] = require_proof(make_plan(spec, r), false).facts;
  std::vector<std::size_t> blocks = call.blocks;
  blocks.resize(static_cast<std::size_t>(block_count(r)), call.blocks.front());
  return host::SmallMessage::make(r, known[key], 0, blocks, {.type = call.type}, most).has_value();
}

TEST(HostConformance, MessagesThatTravelInTheCall) {
  std::size_t count = 0;
  std::map<Collective, std::size_t> travelled;
  Dealer deal;
  constexpr std::size_t most = 48;  // bytes
  const ScopedOption longest("inline", std::to_string(most));
  for (const int ranks : {1, 2, 5, 8}) {
    std::vector<TriedCall> calls;
    for_each_algorithm(ranks, [&](Request request, const std::string& spec) {
      for (const auto type : all_element_types)
        for (const auto op : ops_of(request.collective)) {
          if (!full_run && reduces(request.collective) && mix(deal.number()) % 4 != 0) continue;
          request.root = deal.root(request.collective, ranks);
          auto call = deal.call(request, spec, type, op, deal.way(request));
          // Lengths up to the limit and a little beyond.
          const int held = blocks_in(request, request.root, Buffer::input).count;
          const std::size_t fit = most / size_of(type) / static_cast<std::size_t>(held);
          if (call.blocks.size() > 1)
            for (auto& length : call.blocks) length %= fit + 2;
          else if (const auto random = mix(call.seed); random % 4 != 0)
            call.blocks[0] = fit + random / 4 % 2;
          calls.push_back(std::move(call));
          if (is_inline(calls.back(), most)) ++travelled[request.collective];
        }
    });
    run_calls(ranks, calls);
    count += calls.size();
  }
  for (const Collective collective : all_collectives)
    EXPECT_GT(travelled[collective], 50u) << to_string(collective);
  print_count(count, "calls of small messages and a little more");
}

TEST(HostConformance, LargeMessages) {
  std::size_t count = 0;
  Dealer deal;
  for (const int ranks : {2, 3}) {
    std::vector<TriedCall> calls;
    for_each_algorithm(ranks, [&](Request request, const std::string& spec) {
      const auto number = deal.number();
      if (!full_run && mix(number) % 9 != 0) return;
      request.root = deal.root(request.collective, ranks);
      auto call = deal.call(request, with_cut(spec, cuts[number % cuts.size()]),
                            ElementType::float32, deal.op(request.collective), 0);
      call.blocks = {200'003 / static_cast<std::size_t>(block_count(request))};
      calls.push_back(std::move(call));
    });
    run_calls(ranks, calls);
    count += calls.size();
  }
  print_count(count, "calls of large messages");
}

TEST(HostConformance, NobodyLeavesABarrierBeforeAllHaveComeToIt) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    std::atomic<int> came{0};
    World::threads(ranks).run([&](Communicator& comm) {
      std::vector<float> data(100, 1.0f);
      for (int round = 1; round <= 300; ++round) {
        ++came;
        comm.barrier();
        EXPECT_GE(came.load(), round * ranks);
        if (round % 7 == 0) comm.all_reduce(std::span(data), ReduceOp::max);
        comm.barrier();
        EXPECT_LE(came.load(), round * ranks + ranks - 1);
      }
    });
  }
}

}  // namespace
}  // namespace ringside::tests

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--full") ringside::tests::full_run = true;
  return RUN_ALL_TESTS();
}
