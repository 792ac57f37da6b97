// SPDX-License-Identifier: MIT
/// What is said of plans on machines: facts against counts made otherwise, and the words.
#include "ringside/collectives/selector/explain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/cost.hpp"
#include "ringside/collectives/selector/planned_machine.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/topology/model/link_model.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

constexpr std::uint64_t message = 45 << 20;

Machine machine_of(const std::string& preset, MachineSettings settings = {}) {
  const Topology topology = make_preset(preset).value();
  return {topology, *link_model_for(topology).model, settings};
}

ExplainedCall all_reduce(int ranks, std::uint64_t bytes = message) {
  return {{Collective::all_reduce, ranks, 0, false}, bytes, 4, {}};
}

CallExplanation explain(const std::string& preset, const std::vector<std::string>& specs) {
  const Machine machine = machine_of(preset);
  return explain_call(machine, preset, all_reduce(machine.gpus()), specs);
}

const LinkTraffic& link_of(const Explanation& plan, const std::string& near) {
  const auto found = std::find_if(plan.links.begin(), plan.links.end(),
                                  [&](const LinkTraffic& link) { return link.near == near; });
  EXPECT_NE(found, plan.links.end()) << near;
  return *found;
}

::testing::AssertionResult says(const std::string& text, const std::string& words) {
  if (text.find(words) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << words << "\" is not in:\n" << text;
}

TEST(Explain, SaysHowManyTimesTheMessage) {
  EXPECT_EQ(times_message(3, 4), "3 S");
  EXPECT_EQ(times_message(1.5, 4), "2 (n - 1)/n S = 1.5 S");
  EXPECT_EQ(times_message(0.875, 8), "(n - 1)/n S = 0.875 S");
  EXPECT_EQ(times_message(1, 2), "1 S");
  EXPECT_EQ(times_message(0, 8), "0 S");
}

TEST(Explain, OfNaiveSaysThatEverythingPassesOneLink) {
  const CallExplanation facts = explain("4gpu-pcie4-two-switches", {"naive"});
  const Explanation& plan = facts.plans.front();
  EXPECT_EQ(link_of(plan, "GPU0").out.bytes, 3.0 * message);
  EXPECT_EQ(link_of(plan, "GPU0").in.bytes, 3.0 * message);
  EXPECT_EQ(link_of(plan, "GPU2").out.bytes, 1.0 * message);
  const std::string text = explanation_text(facts);
  EXPECT_TRUE(says(text, "GPU0's link: 270 MiB, 2 (n - 1) S = 6 S: 3 S out, 3 S in"));
  EXPECT_TRUE(says(text, "The load is uneven: GPU0 sends or receives 3 times"));
  EXPECT_TRUE(says(text, "6 times the message must enter the 4 ranks"));
  EXPECT_TRUE(says(text, "times as long as the bound"));
  EXPECT_TRUE(says(text, "by NCCL's own model"));
}

TEST(Explain, OfRingOrdersSaysHowOftenEachCrossesTheUplinks) {
  const CallExplanation facts =
      explain("4gpu-pcie4-two-switches", {"ring:order=0-1-3-2", "ring:order=0-2-1-3"});
  const auto& near = link_of(facts.plans[0], "switch0");
  const auto& far = link_of(facts.plans[1], "switch0");
  EXPECT_EQ(near.out.bytes, 1.5 * message);
  EXPECT_EQ(far.out.bytes, 3.0 * message);
  EXPECT_EQ(near.out.crossings, (std::vector<Crossing>{{1, 3, 1.5 * message}}));
  EXPECT_EQ(far.out.crossings,
            (std::vector<Crossing>{{0, 2, 1.5 * message}, {1, 3, 1.5 * message}}));
  EXPECT_LT(facts.plans[0].seconds, facts.plans[1].seconds);
  const std::string text = explanation_text(facts);
  EXPECT_TRUE(says(text, "switch0 -> host0 is crossed by one pair: GPU1 -> GPU3"));
  EXPECT_TRUE(says(
      text, "switch0 -> host0 is crossed by 2 pairs, 1.5 S each: GPU0 -> GPU2 and GPU1 -> GPU3"));
  EXPECT_TRUE(says(text,
                   "ring:order=0-2-1-3 sends 2 times as much over switch0 -> host0, which GPUs "
                   "share:\n  2 pairs of GPUs that exchange data lie across it, with "
                   "ring:order=0-1-3-2 one pair."));
}

TEST(Explain, CountsWhatTheCostOfThePlanSays) {
  const Machine machine = machine_of("4gpu-pcie4-one-root");
  const ExplainedCall call = all_reduce(4, 1 << 20);
  for (const AlgorithmInfo& info : registered_algorithms()) {
    std::optional<Plan> plan;
    try {
      plan = make_plan(info.name, call.request);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << info.name;
      continue;
    }
    const Cost cost = cost_of(*plan, std::vector<std::size_t>{1 << 18}, 4);
    const Explanation explanation = explain_plan(machine, call, info.name);
    for (int rank = 0; rank < 4; ++rank) {
      const auto& link = link_of(explanation, "GPU" + std::to_string(rank));
      EXPECT_EQ(link.out.bytes, static_cast<double>(cost.sent[static_cast<std::size_t>(rank)]))
          << info.name << " rank " << rank;
      EXPECT_EQ(link.in.bytes, static_cast<double>(cost.received[static_cast<std::size_t>(rank)]))
          << info.name << " rank " << rank;
    }
    EXPECT_EQ(explanation.steps, cost.steps) << info.name;
  }
}

TEST(Explain, ToldPartsAddUpToTheTime) {
  for (const auto& spec : {"ring:slices=4", "two_shot", "naive"}) {
    const Explanation plan = explain("8gpu-two-sockets", {spec}).plans.front();
    const double sum =
        std::accumulate(plan.parts.begin(), plan.parts.end(), 0.0,
                        [](double so_far, const TimePart& part) { return so_far + part.seconds; });
    EXPECT_NEAR(sum, plan.seconds, 1e-9 * plan.seconds) << spec;
  }
}

TEST(Explain, SaysThatDataGoThroughTheHostWhereGpusDoNotReachEachOther) {
  const Machine machine = machine_of("4gpu-pcie4-two-switches", {.peer_access = false});
  const CallExplanation facts =
      explain_call(machine, "box", all_reduce(4), std::vector<std::string>{"ring"});
  EXPECT_TRUE(facts.plans.front().lowered);
  EXPECT_GT(link_of(facts.plans.front(), "switch0").out.bytes, 2.5 * message)
      << "also what stays behind a switch crosses its uplink";
  const std::string text = explanation_text(facts);
  EXPECT_TRUE(says(text, "copies through the host"));
  EXPECT_TRUE(says(text, "GPU0 -> host memory"));
  EXPECT_FALSE(says(text, "GPU0 -> GPU0"));
  EXPECT_TRUE(says(text, "a bound (without what going through the host's memory costs)"));
}

TEST(Explain, ComparedWithItselfAPlanIsToldOnce) {
  const std::string text =
      explanation_text(explain("4gpu-pcie4-two-switches", {"ring", "ring", "two_shot"}));
  EXPECT_TRUE(says(text, "ring: the same plan was given twice."));
  EXPECT_FALSE(says(text, "1 times as long"));
  const auto first = text.find("\nring takes");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("(simulated), ", text.find("(simulated), ", first) + 1),
            text.rfind("(simulated), "))
      << "ring and two_shot, once each";
  const std::string equal =
      explanation_text(explain("4gpu-pcie4-two-switches", {"ring", "ring:order=0-1-2-3"}));
  EXPECT_TRUE(says(equal, "takes as long as")) << equal;
}

TEST(Explain, TellsTheChoiceAndTheOthers) {
  CallExplanation facts = explain("4gpu-pcie4-two-switches", {"ring"});
  facts.chosen_because = "the fastest of 40";
  facts.alternatives = {{"naive", 0.0129, "GPU0's link limits it"},
                        {"halving_doubling", {}, "needs a power of two"}};
  const std::string text = explanation_text(facts);
  EXPECT_TRUE(says(text, "Chosen: ring: the fastest of 40\n"));
  EXPECT_TRUE(says(text, "  naive: 12.9 ms (simulated); GPU0's link limits it\n"));
  EXPECT_TRUE(says(text, "  halving_doubling; needs a power of two\n"));
}

TEST(Explain, OfOtherCollectivesHasTheirBounds) {
  const Machine machine = machine_of("4gpu-pcie4-one-root");
  const std::vector<std::pair<Collective, std::string>> calls = {
      {Collective::all_gather, "ring"},     {Collective::broadcast, "linear"},
      {Collective::all_to_all, "direct"},   {Collective::gather, "linear"},
      {Collective::reduce_scatter, "ring"}, {Collective::reduce, "linear"},
      {Collective::scatter, "linear"}};
  for (const auto& [collective, spec] : calls) {
    const ExplainedCall call{{collective, 4, 0, false}, 64 << 20, 4, {}};
    const CallExplanation facts =
        explain_call(machine, "box", call, std::vector<std::string>{spec});
    EXPECT_GT(facts.bounds.seconds, 0) << to_string(collective);
    EXPECT_LE(facts.bounds.seconds, facts.plans.front().seconds) << to_string(collective);
    EXPECT_TRUE(says(explanation_text(facts), "No plan can beat"));
  }
}

TEST(Explain, JsonHasTheSameFacts) {
  const CallExplanation facts = explain("4gpu-pcie4-two-switches", {"naive", "ring"});
  const auto json = nlohmann::json::parse(explanation_json(facts));
  EXPECT_EQ(json["plans"].size(), 2U);
  EXPECT_EQ(json["plans"][0]["simulated_seconds"], facts.plans[0].seconds);
  EXPECT_EQ(json["plans"][0]["links"][0]["near"], "GPU0");
  EXPECT_EQ(json["plans"][0]["links"][0]["out"]["bytes"], 3.0 * message);
  EXPECT_EQ(json["bounds"][0]["seconds"], facts.bounds.seconds);
  EXPECT_EQ(json["gpus"], (std::vector<std::string>{"GPU0", "GPU1", "GPU2", "GPU3"}));
}

TEST(Explain, RefusesMoreRanksThanGpus) {
  const Machine machine = machine_of("4gpu-pcie4-one-root");
  EXPECT_THROW((void)explain_plan(machine, all_reduce(5), "ring"), Error);
}

TEST(Explain, OfACommunicatorSaysWhatRunsAndWhyAndWhatItMoves) {
  std::string named;
  std::string chosen;
  World::threads(4).run([&](Communicator& comm) {
    if (comm.rank() != 0) return;
    named = comm.explain(Collective::all_reduce, message, true, {.algorithm = "ring"});
    chosen = comm.explain(Collective::all_reduce, message);
    EXPECT_THROW((void)comm.explain(Collective::barrier, 0), Error);
    EXPECT_TRUE(says(comm.explain(Collective::all_gather, 0), "It moves nothing"));
  });
  EXPECT_EQ(
      named,
      "all_reduce on 4 ranks, in place, 45 MiB: ring.\n"
      "Why: named by the caller or the option algorithm.\n"
      "Counted: 6 steps from rank to rank one after another; of the message S = 45 MiB a rank "
      "sends\nat most 67.5 MiB (2 (n - 1)/n S = 1.5 S) and receives at most 67.5 MiB (2 (n - "
      "1)/n S = 1.5 S).\n");
  EXPECT_TRUE(says(chosen, "Why: default tuning: "));
}

TEST(Explain, OfAPlannedMachineIsThatOfItsGpus) {
  PlannedMachine machine("box", make_preset("8gpu-two-sockets").value(), false);
  const Request request{Collective::all_reduce, 4, 0, true};
  const std::string text = machine.explain({0, 1, 4, 5}, request, message, "ring");
  EXPECT_TRUE(says(text, "ring takes "));
  EXPECT_TRUE(says(text, "numa0 -> numa1 is crossed by one pair: GPU1 -> GPU4"));
  EXPECT_EQ(machine.explain({0}, {Collective::all_reduce, 1, 0, true}, message, "ring"), "");
  EXPECT_EQ(machine.explain({0, 1, 4, 5}, request, 0, "ring"), "");
}

TEST(Explain, OfSeveralRanksOnAGpuCountsOnlyWhatCrossesLinks) {
  const Machine machine = machine_of("4gpu-pcie4-one-root");
  ExplainedCall call = all_reduce(4);
  call.gpus = {0, 0, 1, 1};
  const Explanation plan = explain_plan(machine, call, "ring");
  EXPECT_EQ(link_of(plan, "GPU0").out.bytes, 1.5 * message);
  EXPECT_EQ(plan.links.size(), 2U);
  call.gpus = {2, 2, 2, 2};
  EXPECT_TRUE(
      says(explanation_text(explain_call(machine, "box", call, std::vector<std::string>{"ring"})),
           "No bound: all ranks are on one GPU"));
}

}  // namespace
}  // namespace ringside::tests
