// SPDX-License-Identifier: MIT
/// Plans as text: JSON there and back, what is refused, and what the pictures show.
#include "ringside/collectives/plan_io.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/lower.hpp"
#include "ringside/collectives/prover.hpp"
#include "ringside/tests/collectives/plans_under_test.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside {
namespace {

Plan plan_of(const std::string& spec, int ranks, bool in_place = false) {
  return make_plan(spec, {.ranks = ranks, .in_place = in_place});
}

std::string data_file(const std::string& name) {
  return read_file(std::string(RINGSIDE_TEST_DATA) + "/plans/" + name);
}

void expect_round_trip(const Plan& plan) {
  const std::string text = plan_to_json(plan);
  const Plan again = plan_from_json(text);
  EXPECT_EQ(again.hash(), plan.hash()) << plan.spec();
  EXPECT_EQ(again.spec(), plan.spec());
  EXPECT_EQ(plan_to_json(again), text);
}

TEST(PlanJson, OfEveryAlgorithmReadsBackEqual) {
  for (const Request& request : test::requests_of({1, 2, 5, 8}))
    for (const auto& name : test::registered_names(request.collective))
      for (const char* cut : {"", ":slices=4,lanes=3,depth=2"})
        if (const auto plan = test::try_plan(name + cut, request)) expect_round_trip(*plan);
}

TEST(PlanJson, KeepsScratchInHostMemory) {
  const AccessMatrix access(3, std::vector<Access>(3, Access::none));
  const Plan plan = lower(plan_of("ring", 3), access);
  ASSERT_TRUE(plan.uses_scratch());
  expect_round_trip(plan);
}

TEST(PlanJson, KeepsEveryCollectiveAndAnySpec) {
  Plan plan({.collective = Collective::broadcast, .ranks = 2, .root = 1}, {}, "my \"own\"\\\nö");
  const std::vector<Location> from = {{1, Buffer::input, 0, 0}};
  const std::vector<Location> to = {{0, Buffer::output, 0, 0}, {1, Buffer::output, 0, 0}};
  plan.append({1, 0, 1, from, to});
  expect_round_trip(plan);
}

TEST(PlanJson, HandMadeFilesAreReadAndProven) {
  const Plan right = plan_from_json(data_file("pair_right.json"));
  EXPECT_EQ(right.spec(), "written by hand");
  EXPECT_TRUE(prove(right).holds());
  const Plan wrong = plan_from_json(data_file("pair_wrong.json"));
  const Proof proof = prove(wrong);
  ASSERT_FALSE(proof.holds());
  EXPECT_NE(proof.refuted->message.find("rank 1"), std::string::npos) << proof.refuted->message;
}

/// The message of the bad_input that reading throws; empty if it throws none.
std::string refusal(const std::string& text) {
  auto words = tests::bad_input_of([&] { return plan_from_json(text, "f.json"); });
  EXPECT_LT(words.size(), 300u);
  return words;
}

TEST(PlanJson, DamagedFilesAreRefused) {
  EXPECT_EQ(refusal(data_file("pair_damaged.json")),
            "f.json: $.ops[1].destinations[0][1]: expected one of input, output, scratch, got "
            "\"outputs\" (did you mean \"output\"?)");
  EXPECT_EQ(refusal(data_file("pair_truncated.json")).find("f.json: "), 0u);
}

/// A small plan with every kind of location, in which the damages below are made.
std::string sample() { return plan_to_json(plan_of("one_shot", 2, true)); }

struct Damage {
  const char* name;
  std::string what, by;    // the first `what` in the sample is replaced
  std::string path, says;  // of the refusal
};

class DamagedPlan : public testing::TestWithParam<Damage> {};

TEST_P(DamagedPlan, IsRefusedWithThePathOfTheFault) {
  const Damage& damage = GetParam();
  std::string text = sample();
  const auto place = text.find(damage.what);
  ASSERT_NE(place, std::string::npos);
  text.replace(place, damage.what.size(), damage.by);
  const std::string message = refusal(text);
  EXPECT_EQ(message.find("f.json: " + damage.path + ": "), 0u) << message;
  EXPECT_NE(message.find(damage.says), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    PlanJson, DamagedPlan,
    testing::Values(
        Damage{"NoPlan", "ringside_plan", "gridside_plan", "$", "no field \"ringside_plan\""},
        Damage{"NewerVersion", "\"ringside_plan\": 1", "\"ringside_plan\": 2", "$.ringside_plan",
               "version 2"},
        Damage{"MissingKey", "\"lanes\": 1, ", "", "$", "lanes"},
        Damage{"UnknownKey", "\"lanes\": 1", "\"lanes\": 1, \"lances\": 1", "$", "lances"},
        Damage{"UnknownKeyOfAnOp", "\"lane\": 0, \"count\"", "\"lane\": 0, \"x\": 0, \"count\"",
               "$.ops[0]", "x"},
        Damage{"UnknownCollective", "all_reduce", "all_produce", "$.collective", "all_produce"},
        Damage{"NumberAsText", "\"ranks\": 2", "\"ranks\": \"2\"", "$.ranks", "integer"},
        Damage{"Fraction", "\"ranks\": 2", "\"ranks\": 2.5", "$.ranks", "integer"},
        Damage{"NoRanks", "\"ranks\": 2", "\"ranks\": 0", "$.ranks", "1"},
        Damage{"BillionRanks", "\"ranks\": 2", "\"ranks\": 1000000000", "$.ranks", "4096"},
        Damage{"MoreThanAnyInteger", "\"ranks\": 2", "\"ranks\": 99999999999999999999", "$.ranks",
               "integer"},
        Damage{"RootThatIsNoRank", "\"root\": 0", "\"root\": 2", "$.root", "0"},
        Damage{"PlacementInWords", "\"in_place\": true", "\"in_place\": \"yes\"", "$.in_place",
               "true or false"},
        Damage{"BillionChunks", "\"chunks_per_block\": 1", "\"chunks_per_block\": 1000000000",
               "$.chunks_per_block", "1048576"},
        Damage{"DepthBeyondSlices", "\"depth\": 1", "\"depth\": 2", "$.depth", "1"},
        Damage{"SlotsOutOfOrder", "\"slot\": 0", "\"slot\": 1", "$.scratch[0].slot", "expected 0"},
        Damage{"ScratchOfNoChunk", "\"first_chunk\": 0", "\"first_chunk\": 1",
               "$.scratch[0].first_chunk", "0"},
        Damage{"ScratchPlace", "\"device\"", "\"disk\"", "$.scratch[0].place", "disk"},
        Damage{"OpsThatAreNoList", "\"ops\": [", "\"ops\": 1, \"scratch2\": [", "$", "scratch2"},
        Damage{"OpOfNoRank", "{\"rank\": 0, \"lane\"", "{\"rank\": 7, \"lane\"", "$.ops[0].rank",
               "7"},
        Damage{"OpInNoLane", "\"lane\": 0", "\"lane\": 1", "$.ops[0].lane", "1"},
        Damage{"OpOfNoChunks", "\"count\": 1", "\"count\": 0", "$.ops[0].count", "0"},
        Damage{"OpOfTooManyChunks", "\"count\": 1", "\"count\": 2", "$.ops[0].count", "2"},
        Damage{"OpThatReadsNothing", "[[0, \"input\", 0]]", "[]", "$.ops[0].sources", "1"},
        Damage{"LocationOfNoRank", "[0, \"input\", 0]", "[2, \"input\", 0]",
               "$.ops[0].sources[0][0]", "2"},
        Damage{"LocationOfNoChunk", "[0, \"input\", 0]", "[0, \"input\", 1]",
               "$.ops[0].sources[0][2]", "1"},
        Damage{"InputWithASlot", "[0, \"input\", 0]", "[0, \"input\", 0, 0]", "$.ops[0].sources[0]",
               "[rank, buffer, chunk]"},
        Damage{"ScratchWithoutSlot", "[0, \"scratch\", 0, 0]", "[0, \"scratch\", 0]",
               "$.ops[0].destinations[0]", "[rank, \"scratch\", chunk, slot]"},
        Damage{"SlotThatIsNotThere", "[0, \"scratch\", 0, 0]", "[0, \"scratch\", 0, 3]", "$.ops[0]",
               "no scratch slot 3"},
        Damage{"OpWithoutItsRank", "{\"rank\": 0, \"lane\"", "{\"rank\": 1, \"lane\"", "$.ops[0]",
               "none of its data"},
        Damage{"StoresTwice", "[[0, \"output\", 0]]", "[[0, \"output\", 0], [0, \"output\", 0]]",
               "$.ops[2]", "stores twice"}),
    [](const auto& tested) { return tested.param.name; });

TEST(PlanJson, HostileTextsAreRefusedQuickly) {
  EXPECT_NE(refusal(""), "");
  EXPECT_NE(refusal("[]"), "");
  EXPECT_NE(refusal("null"), "");
  EXPECT_NE(refusal(std::string(1'000'000, '[')), "");
  EXPECT_NE(refusal("{\"ringside_plan\": " + std::string(100'000, '[')), "");
  EXPECT_NE(refusal(sample() + "x"), "");
  EXPECT_NE(refusal(std::string("\0\xff", 2)), "");
  std::string twice = sample();
  twice.insert(1, "\"ranks\": 2, ");
  EXPECT_NE(refusal(twice).find("ranks"), std::string::npos);
}

TEST(PlanJson, WhatWouldTakeTooMuchMemoryOrTimeIsRefused) {
  const auto with = [](const std::string& ranks, const std::string& chunks, const std::string& op) {
    return "{\"ringside_plan\": 1, \"spec\": \"\", \"collective\": \"all_reduce\", \"ranks\": " +
           ranks + ", \"root\": 0, \"in_place\": false, \"chunks_per_block\": " + chunks +
           ", \"lanes\": 1, \"slices\": 1, \"depth\": 1, \"scratch\": [], \"ops\": [" + op + "]}";
  };
  EXPECT_NE(refusal(with("4096", "1048576", "")).find("f.json: $.chunks_per_block: "),
            std::string::npos);
  std::string ops;  // each moves a million chunks
  for (int i = 0; i < 200; ++i)
    ops += std::string(i > 0 ? "," : "") +
           "{\"rank\": 0, \"lane\": 0, \"count\": 1000000, \"sources\": [[0, \"input\", 0]], "
           "\"destinations\": [[0, \"output\", 0]]}";
  EXPECT_NE(refusal(with("2", "1000000", ops)).find("move more than"), std::string::npos);
  std::string sources;
  for (int i = 0; i < 2000; ++i) sources += std::string(i > 0 ? "," : "") + "[0, \"input\", 0]";
  EXPECT_NE(refusal(with("2", "1",
                         "{\"rank\": 0, \"lane\": 0, \"count\": 1, \"sources\": [" + sources +
                             "], \"destinations\": [[0, \"output\", 0]]}"))
                .find("f.json: $.ops[0].sources: "),
            std::string::npos);
}

TEST(ShowPlan, DrawsTheDataAfterEveryStep) {
  EXPECT_EQ(show_plan(plan_of("ring", 3)),
            "ring: all_reduce on 3 ranks, out of place: 3 chunks, 12 ops, 4 steps\n"
            "Per chunk the ranks added so far, * complete, . nothing yet.\n"
            "oR[C]: output chunk C of rank R, iR input, by R: executed by R.\n"
            "\n"
            "            rank 0         rank 1         rank 2\n"
            "start        0 |  0 |  0    1 |  1 |  1    2 |  2 |  2\n"
            "step 1       0 | 02 |  0    1 |  1 | 01   12 |  2 |  2\n"
            "            o0[1] = i2 + i0;  o1[2] = i0 + i1;  o2[0] = i1 + i2\n"
            "step 2       * | 02 |  0    1 |  * | 01   12 |  2 |  *\n"
            "            o0[0] = o2 + i0;  o1[1] = o0 + i1;  o2[2] = o1 + i2\n"
            "step 3       * | 02 |  *    * |  * | 01   12 |  * |  *\n"
            "            o0[2] = o2;  o1[0] = o0;  o2[1] = o1\n"
            "step 4       * |  * |  *    * |  * |  *    * |  * |  *\n"
            "            o0[1] = o2;  o1[2] = o0;  o2[0] = o1\n");
}

TEST(ShowPlan, ShowsScratchAndPushes) {
  const std::string text = show_plan(plan_of("one_shot:transfer=push", 3));
  EXPECT_NE(text.find("start       0  [. .]   1  [. .]   2  [. .]\n"
                      "step 1      *  [1 2]   *  [0 2]   *  [0 1]\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("s1.0,s2.0[0] = i0 by 0;"), std::string::npos);
}

TEST(ShowPlan, FitsAHundredColumns) {
  for (const Request& request : test::requests_of({1, 2, 3, 4, 6, 9, 16, 33}))
    for (const auto& name : test::registered_names(request.collective)) {
      const auto plan = test::try_plan(name, request);
      if (!plan) continue;
      std::istringstream lines(show_plan(*plan));
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(line.size(), 100u) << name << ", " << request.ranks << " ranks: " << line;
    }
}

TEST(ShowPlan, CutsLongPlansAndSaysSo) {
  const std::string text = show_plan(plan_of("chain", 9), 3);
  EXPECT_NE(text.find("step 3 "), std::string::npos);
  EXPECT_EQ(text.find("step 4 "), std::string::npos);
  EXPECT_NE(text.find("... cut here: 16 steps in all\n"), std::string::npos);
  EXPECT_EQ(show_plan(plan_of("chain", 9), 16).find("cut here"), std::string::npos);
}

TEST(ShowPlan, SaysWhereAWrongPlanStops) {
  Plan plan({.ranks = 2}, {}, "reads what nobody wrote");
  const std::vector<Location> from = {{1, Buffer::output, 0, 0}};
  const std::vector<Location> to = {{0, Buffer::output, 0, 0}};
  plan.append({0, 0, 1, from, to});
  EXPECT_NE(show_plan(plan).find("stops here: op 0"), std::string::npos) << show_plan(plan);
}

TEST(PlanToDot, HasEveryOpAndEveryWait) {
  for (const char* spec : {"ring", "two_shot:transfer=push,slices=4", "recursive_doubling"}) {
    const Plan plan = plan_of(spec, 4, true);
    const std::string text = plan_to_dot(plan);
    const Schedule schedule = make_schedule(plan);
    std::size_t nodes = 0, waits = 0, queue = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const bool edge = line.find(" -> ") != std::string::npos;
      const bool dotted = line.find("dotted") != std::string::npos;
      nodes += !edge && line.find("    op") == 0 ? 1 : 0;
      waits += edge && !dotted ? 1 : 0;
      queue += edge && dotted ? 1 : 0;
    }
    std::size_t in_queues = 0;
    for (const auto& stream : schedule.streams) in_queues += stream.empty() ? 0 : stream.size() - 1;
    EXPECT_EQ(nodes, plan.size()) << text;
    EXPECT_EQ(waits, schedule.wait_list.size()) << text;
    EXPECT_EQ(queue, in_queues) << text;
  }
}

TEST(PlanToDot, QuotesTheSpec) {
  const Plan plan({.ranks = 2}, {}, "a \"b\" \\ \n c");
  EXPECT_NE(plan_to_dot(plan).find("label=\"a \\\"b\\\" \\\\   c, 2 ranks\";"), std::string::npos)
      << plan_to_dot(plan);
}

}  // namespace
}  // namespace ringside
