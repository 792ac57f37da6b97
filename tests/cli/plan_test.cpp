// SPDX-License-Identifier: MIT
/// `ringside plan` on things that are right, or wrong in a way that only the prover sees.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/tests/cli/ringside_program.hpp"

namespace ringside::tests {
namespace {

using nlohmann::json;

std::string output_of(const std::vector<std::string>& words, const ProgramInput& input = {}) {
  const auto result = ringside_program(words, input);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  return result.output;
}

TEST(Plan, ThePageHasRequestShapeProofAndCost) {
  const auto page = output_of({"plan", "ring", "--ranks", "4"});
  for (const std::string_view part :
       {"ring\n", "all_reduce, 4 ranks, out of place", "4 chunks", "24 transfers", "proof: holds",
        "neither measured nor predicted", "64 MiB", "96 MiB", "1.5 x the message"})
    EXPECT_TRUE(contains(page, part)) << part << " in\n" << page;
  EXPECT_TRUE(contains(output_of({"plan", "ring", "--ranks", "4", "--in-place"}), ", in place"));
}

TEST(Plan, EveryCollectiveHasAPage) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"ring", "reduce_scatter", "0"},
                                             {"bruck", "all_gather", "0"},
                                             {"binomial", "broadcast", "2"},
                                             {"chain", "reduce", "1"},
                                             {"binomial", "gather", "4"},
                                             {"linear", "scatter", "3"},
                                             {"pairwise", "all_to_all", "0"}}) {
    const std::vector<std::string> plan = {"plan",    words[0], "--collective", words[1],
                                           "--ranks", "5",      "--root",       words[2]};
    const auto page = output_of(plan);
    EXPECT_TRUE(contains(page, words[1] + ", 5 ranks")) << page;
    EXPECT_TRUE(contains(page, "proof: holds")) << page;
    auto show = plan;
    show.emplace_back("--show");
    EXPECT_TRUE(contains(output_of(show), "start "));
  }
}

TEST(Plan, AnySizeOfMessageIsCounted) {
  for (const std::string size : {"0", "4", "8", "1020", "1G", "16T"}) {
    SCOPED_TRACE(size);
    const json cost = json::parse(
        output_of({"plan", "ring", "--ranks", "3", "--cost", "--bytes", size, "--format", "json"}));
    EXPECT_EQ(cost.at("steps"), 4);
  }
}

TEST(Plan, CostOfARingIsTheFormula) {
  const json cost = json::parse(
      output_of({"plan", "ring", "--ranks", "4", "--cost", "--bytes", "4000", "--format", "json"}));
  EXPECT_EQ(cost.at("kind"), "counted");
  EXPECT_EQ(cost.at("bytes"), 4000);
  EXPECT_EQ(cost.at("steps"), 6);
  EXPECT_EQ(cost.at("sent"), json({6000, 6000, 6000, 6000}));
  EXPECT_EQ(cost.at("received"), json({6000, 6000, 6000, 6000}));
  ASSERT_EQ(cost.at("links").size(), 4U);
  for (const auto& link : cost.at("links")) {
    EXPECT_EQ(link.at("to").get<int>(), (link.at("from").get<int>() + 1) % 4);
    EXPECT_EQ(link.at("bytes"), 6000);
  }
  const auto text = output_of({"plan", "ring", "--ranks", "4", "--cost", "--bytes", "4000"});
  EXPECT_TRUE(contains(text, "6000")) << text;
}

TEST(Plan, LongListsAreCutInTextOnly) {
  const auto text = output_of({"plan", "one_shot", "--ranks", "70", "--cost"});
  EXPECT_TRUE(contains(text, "more ranks (--format json lists all)"));
  EXPECT_TRUE(contains(text, "more links (--format json lists all)"));
  const json cost =
      json::parse(output_of({"plan", "one_shot", "--ranks", "70", "--cost", "--format", "json"}));
  EXPECT_EQ(cost.at("sent").size(), 70U);
  EXPECT_EQ(cost.at("links").size(), 70U * 69U);
}

TEST(Plan, EveryAlgorithmIsProvenHereToo) {
  const json list = json::parse(output_of({"algorithms", "--format", "json"}));
  for (const auto& algorithm : list.at("algorithms"))
    for (const std::string collective : algorithm.at("collectives")) {
      const std::string spec = algorithm.at("name");
      SCOPED_TRACE(spec + ", " + collective);
      const auto run = [&](const std::string& ranks, const std::vector<std::string>& view) {
        std::vector<std::string> words = {"plan",     spec,      "--collective",
                                          collective, "--ranks", ranks};
        words.insert(words.end(), view.begin(), view.end());
        return ringside_program(words);
      };
      for (const std::string ranks : {"1", "2", "4", "5"}) {
        const auto result = run(ranks, {"--prove"});
        if (ranks == "5" && contains(result.error, "for powers of two only")) continue;
        ASSERT_EQ(result.exit_code, 0) << result.error << result.output;
        EXPECT_TRUE(result.output.starts_with("proof: holds")) << result.output;
      }
      const json proof = json::parse(run("4", {"--prove", "--format", "json"}).output);
      EXPECT_EQ(proof.at("holds"), true);
      EXPECT_EQ(proof.at("facts").at("same_on_all_ranks"), true);
      EXPECT_FALSE(run("4", {"--show"}).output.empty());
    }
}

TEST(Plan, AFactIsToldInWordsThatFitItsAnswer) {
  const std::string ring = output_of({"plan", "ring", "--ranks", "4", "--prove"});
  for (const auto* line : {"yes  all ranks end with the same bits",
                           "no   the bits may depend on the size of the message",
                           "no   elements are added in other orders than that of the ranks",
                           "no   elements are rounded more than once"})
    EXPECT_TRUE(contains(ring, line)) << line << "\n" << ring;
  const std::string one_shot = output_of({"plan", "one_shot", "--ranks", "4", "--prove"});
  for (const auto* line : {"yes  the bits do not depend on the size of the message",
                           "yes  every element is added in the order of the ranks",
                           "yes  every element is rounded only once"})
    EXPECT_TRUE(contains(one_shot, line)) << line << "\n" << one_shot;
}

TEST(Plan, ARefutedPlanIsAFindingThatNamesRankAndChunk) {
  const ProgramInput input{.text = with(two_rank_plan, "[1, \"input\", 0]", "[0, \"input\", 0]")};
  const auto text = ringside_program({"plan", "-", "--prove"}, input);
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_EQ(text.error, "");
  EXPECT_TRUE(text.output.starts_with("proof: REFUTED: ")) << text.output;
  for (const auto& words : {std::vector<std::string>{"plan", "-"}, {"plan", "-", "--show"}}) {
    const auto shown = ringside_program(words, input);
    EXPECT_EQ(shown.exit_code, 1);
    EXPECT_TRUE(contains(shown.output, "proof: REFUTED: ")) << shown.output;
  }
  EXPECT_TRUE(contains(text.output, "rank")) << text.output;
  EXPECT_TRUE(contains(text.output, "chunk")) << text.output;
  EXPECT_EQ(lines_of(text.output).size(), 1U);

  const auto parsed = ringside_program({"plan", "-", "--prove", "--format", "json"}, input);
  EXPECT_EQ(parsed.exit_code, 1);
  const json proof = json::parse(parsed.output);
  EXPECT_EQ(proof.at("holds"), false);
  EXPECT_TRUE(proof.at("refutation").at("rank").is_number());
  EXPECT_TRUE(proof.at("refutation").at("chunk").is_number());

  EXPECT_EQ(ringside_program({"plan", "-"}, input).exit_code, 1);
}

TEST(Plan, FilesAndSpecsGiveTheSamePlan) {
  for (const std::string spec :
       {"ring:order=0-2-1-3,slices=4", "one_shot", "hierarchical:groups=0-1/2-3"}) {
    SCOPED_TRACE(spec);
    const auto file = output_of({"plan", spec, "--ranks", "4", "--in-place", "--format", "json"});
    const json document = json::parse(file);
    EXPECT_EQ(document.at("ringside_plan"), 1);
    EXPECT_EQ(document.at("ranks"), 4);
    EXPECT_EQ(document.at("in_place"), true);
    const ProgramInput input{.text = file};
    EXPECT_EQ(output_of({"plan", "-", "--format", "json"}, input), file);
    EXPECT_EQ(output_of({"plan", "-", "--ranks", "4", "--in-place"}, input),
              output_of({"plan", spec, "--ranks", "4", "--in-place"}));
  }
}

TEST(Plan, AutoIsWhatTheLibraryTakes) {
  const auto result = ringside_program({"plan", "auto", "--ranks", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_TRUE(result.output.starts_with("two_shot\n")) << result.output;
}

TEST(Plan, DotIsAGraph) {
  const auto dot = output_of({"plan", "chain", "--ranks", "3", "--format", "dot"});
  EXPECT_TRUE(contains(dot, "digraph")) << dot;
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
}

TEST(Plan, LessAccessCostsMoreAndStaysRight) {
  std::vector<std::uint64_t> ops;
  for (const std::string access : {"direct", "copy_only", "none"}) {
    SCOPED_TRACE(access);
    EXPECT_TRUE(
        contains(output_of({"plan", "ring", "--ranks", "4", "--access", access}), "proof: holds"));
    ops.push_back(json::parse(output_of({"plan", "ring", "--ranks", "4", "--cost", "--access",
                                         access, "--format", "json"}))
                      .at("ops"));
  }
  EXPECT_LT(ops[0], ops[1]);
  EXPECT_LE(ops[1], ops[2]);
}

TEST(Plan, AboveTheProversLimitThePageSaysSo) {
  const auto page = output_of({"plan", "naive", "--ranks", "257"});
  EXPECT_TRUE(contains(page, "not tried, because the prover stops at 256 ranks")) << page;
}

}  // namespace
}  // namespace ringside::tests
