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

// --- making calls --------------------------------------------------------------------------------

constexpr std::array all_collectives = {Collective::all_reduce, Collective::reduce_scatter,
                                        Collective::all_gather, Collective::broadcast,
                                        Collective::reduce,     Collective::gather,
                                        Collective::scatter,    Collective::all_to_all};

/// The ranks in an order that is neither rising nor a rotation of it: first the odd ones.
std::string an_order(int ranks) {
  std::string order;
  for (const int first : {1, 0})
    for (int rank = first; rank < ranks; rank += 2)
      order += fmt::format("{}{}", order.empty() ? "" : "-", rank);
  return order;
}

bool takes(const AlgorithmInfo& info, std::string_view parameter) {
  return std::any_of(info.parameters.begin(), info.parameters.end(),
                     [&](const ParameterInfo& p) { return p.name == parameter; });
}

/// Every algorithm of a collective, also with parameters of its own.
std::vector<std::string> specs_for(Collective collective, int ranks) {
  std::vector<std::string> specs = {"auto"};
  for (const AlgorithmInfo& info : registered_algorithms()) {
    if (std::find(info.collectives.begin(), info.collectives.end(), collective) ==
        info.collectives.end())
      continue;
    specs.push_back(info.name);
    if (takes(info, "order") && ranks > 2) specs.push_back(info.name + ":order=" + an_order(ranks));
    if (takes(info, "transfer"))
      for (const char* transfer : {"push", "pull"})
        specs.push_back(info.name + ":transfer=" + transfer);
    if (takes(info, "inner"))
      for (const char* parts :
           {"inner=one_shot,outer=one_shot", "inner=ring,outer=recursive_doubling"})
        specs.push_back(info.name + ":" + parts);
    if (takes(info, "groups") && ranks == 4)
      specs.push_back(info.name + ":groups=3-0-1/2,inner=halving_doubling,outer=naive");
  }
  return specs;
}

bool supported(const std::string& spec, const Request& request) {
  if (spec == "auto") return true;
  try {
    (void)PlanStream(parse_spec(spec), request);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << spec << ": " << error.what();
    return false;
  }
}

/// Slices, lanes and depth; 0: not given.
struct Cut {
  int slices, lanes, depth;
};
constexpr std::array<Cut, 7> cuts = {
    {{0, 0, 0}, {2, 1, 1}, {3, 2, 0}, {4, 4, 2}, {7, 3, 3}, {16, 2, 1}, {64, 4, 0}}};

std::string with_cut(const std::string& spec, const Cut& cut) {
  if (spec == "auto") return spec;
  std::string text = spec;
  char joint = spec.find(':') == std::string::npos ? ':' : ',';
  const auto add = [&](const char* name, int value) {
    if (value == 0) return;
    text += fmt::format("{}{}={}", joint, name, value);
    joint = ',';
  };
  add("slices", cut.slices);
  add("lanes", cut.lanes);
  add("depth", cut.depth);
  return text;
}

/// Ways to give block lengths. Each is a list for so many blocks.
constexpr int equal_ways = 5;
constexpr int unequal_ways = 5;
std::vector<std::size_t> lengths(const Request& request, int way, std::uint64_t seed) {
  const auto blocks = static_cast<std::size_t>(block_count(request));
  const auto n = static_cast<std::size_t>(request.ranks);
  const std::size_t share = blocks == 1 ? 1 : n;  // so that all data together are alike
  switch (way) {
    case 0:
      return {0};
    case 1:
      return {1};
    case 2:
      return {n / 2 + 1};  // fewer than ranks
    case 3:
      return {131};
    case 4:
      return {4099 / share + 1};
    default:
      break;
  }
  std::vector<std::size_t> list(blocks);
  const std::size_t chosen = mix(seed) % blocks;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::uint64_t random = mix(seed + i * 131);
    switch (way) {
      case 5:  // some empty
        list[i] = random % 2 == 0 ? 0 : random % 97;
        break;
      case 6:  // all empty but one
        list[i] = i == chosen ? 211 : 0;
        break;
      case 7:  // one is huge
        list[i] = i == chosen ? 5003 : random % 3;
        break;
      case 8:  // all differ
        list[i] = 40 + 3 * i;
        break;
      default:  // any
        list[i] = random % 400;
        break;
    }
  }
  return list;
}

int length_ways(const Request& request) {
  return equal_ways + (block_count(request) > 1 ? unequal_ways : 0);
}

/// Numbers calls, and deals out evenly what not all calls are made with.
class Dealer {
 public:
  TriedCall call(const Request& request, std::string spec, ElementType type, ReduceOp op, int way) {
    const auto seed = next_++;
    return {request, std::move(spec), lengths(request, way, seed), type, op, seed};
  }
  ElementType type() { return turn(types_, all_element_types); }
  ReduceOp op(Collective collective) {
    return reduces(collective) ? turn(ops_, all_reduce_ops) : ReduceOp::sum;
  }
  int way(const Request& request) {
    return static_cast<int>(ways_++ % static_cast<std::size_t>(length_ways(request)));
  }
  int root(Collective collective, int ranks) {
    return has_root(collective) ? static_cast<int>(roots_++ % static_cast<std::size_t>(ranks)) : 0;
  }
  std::size_t number() { return next_++; }

 private:
  // The turns drift against each other, so that all pairs are met in time.
  template <class Value, std::size_t count>
  Value turn(std::size_t& counter, const std::array<Value, count>& values) {
    const std::size_t i = counter++;
    return values[(i + i / count * 3) % count];
  }
  std::size_t next_ = 1, types_ = 0, ops_ = 0, ways_ = 0, roots_ = 0;
};

/// What is reduced with: every operator, or nothing.
std::vector<ReduceOp> ops_of(Collective collective) {
  if (!reduces(collective)) return {ReduceOp::sum};
  return {all_reduce_ops.begin(), all_reduce_ops.end()};
}

/// Calls `each(request with root 0, spec)` for what algorithms of a collective can serve.
template <class Each>
void for_each_algorithm(int ranks, Each each) {
  for (const Collective collective : all_collectives)
    for (const bool in_place : {false, true}) {
      const Request request{collective, ranks, 0, in_place};
      if (in_place && collective == Collective::all_to_all) continue;
      for (const auto& spec : specs_for(collective, ranks))
        if (supported(spec, request)) each(request, spec);
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
