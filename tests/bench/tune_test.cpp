// SPDX-License-Identifier: MIT
/// Making a tuning table: what is tried, what noise may not change, and that what comes out is a
/// table.
#include "ringside/bench/tune.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/selector/choice.hpp"

namespace ringside::bench::tests {
namespace {

const std::vector<std::string> three = {"simple", "second", "third"};

SizeTrials size(std::uint64_t bytes, std::vector<double> ratios) {
  SizeTrials trials{.bytes = bytes, .trials = {}};
  for (std::size_t i = 0; i < ratios.size(); ++i) trials.trials.push_back({three[i], 1, ratios[i]});
  return trials;
}

std::vector<TuningRange> ranges(const std::vector<SizeTrials>& sizes) {
  return best_ranges(sizes, three);
}

TEST(BestRanges, TheFastestIsTakenWhereItIsMuchFaster) {
  EXPECT_EQ(ranges({size(64, {1, 2, 3}), size(256, {1, 2, 3}), size(1024, {2, 1, 3}),
                    size(4096, {2, 1.5, 1})}),
            (std::vector<TuningRange>{{0, "simple"}, {512, "second"}, {2048, "third"}}));
}

TEST(BestRanges, OfEqualsTheSimplestIsTaken) {
  EXPECT_EQ(ranges({size(64, {1, 1, 1}), size(256, {1, 1, 1})}),
            (std::vector<TuningRange>{{0, "simple"}}));
}

TEST(BestRanges, ALittleFasterAtOneSizeIsNoReasonToChange) {
  EXPECT_EQ(ranges({size(64, {1, 1.5, 2}), size(256, {1.04, 1, 2}), size(1024, {1, 1.5, 2})}),
            (std::vector<TuningRange>{{0, "simple"}}));
  EXPECT_EQ(ranges({size(64, {1, 1.5, 2}), size(256, {1.3, 1, 2}), size(1024, {1, 1.5, 2})}),
            (std::vector<TuningRange>{{0, "simple"}, {128, "second"}, {512, "simple"}}));
}

TEST(BestRanges, ALittleFasterAtManySizesIs) {
  EXPECT_EQ(ranges({size(64, {1, 1.5, 2}), size(256, {1.04, 1, 2}), size(1024, {1.04, 1, 2}),
                    size(4096, {1.04, 1, 2})})
                .size(),
            2U);
}

TEST(BestRanges, WhatWasNotMeasuredAtASizeIsNotTakenThere) {
  EXPECT_EQ(ranges({size(64, {1}), size(256, {5, 1})}),
            (std::vector<TuningRange>{{0, "simple"}, {128, "second"}}));
}

Timing timing(std::vector<double> rounds) {
  Timing timing;
  timing.round_times = std::move(rounds);
  std::vector<double> order = timing.round_times;
  std::sort(order.begin(), order.end());
  timing.time = order[order.size() / 2];
  return timing;
}

Series series(const std::string& label, std::vector<double> out, std::vector<double> in) {
  Series made;
  made.label = label;
  made.rows.push_back({.timings = {timing(std::move(out)), timing(std::move(in))}});
  return made;
}

TEST(Trials, ADifferenceWithinTheNoiseOfTheRoundsIsNone) {
  Report report;
  report.series = {series("fast", {10, 11, 10, 12, 10, 10, 11}, {1, 1, 1, 1, 1, 1, 1}),
                   series("close", {11, 10, 12, 11, 10, 11, 12}, {1, 1, 1, 1, 1, 1, 1}),
                   series("slow", {20, 22, 20, 24, 20, 20, 22}, {1, 1, 1, 1, 1, 1, 1})};
  const auto out = trials_of(report, 64, {Placement::out_of_place});
  EXPECT_EQ(out.bytes, 64U);
  EXPECT_EQ(out.trials[0].ratio, 1);
  EXPECT_EQ(out.trials[1].ratio, 1);
  EXPECT_DOUBLE_EQ(out.trials[2].ratio, 2);
  const auto both = trials_of(report, 64, {Placement::out_of_place, Placement::in_place});
  EXPECT_DOUBLE_EQ(both.trials[2].ratio, std::sqrt(2.0));
}

TEST(Trials, OfFewRoundsAllMustSayTheSame) {
  Report report;
  report.series = {series("fast", {10, 10}, {1, 1}), series("slow", {20, 22}, {1, 1}),
                   series("torn", {9, 30}, {1, 1})};
  const auto out = trials_of(report, 64, {Placement::out_of_place});
  EXPECT_DOUBLE_EQ(out.trials[1].ratio, 2.1);
  EXPECT_EQ(out.trials[2].ratio, 1);
}

TEST(TuningEstimate, CountsInEnglishAndNeverBelowWhatCanBeKept) {
  TuneRequest request;
  request.collectives = {Collective::broadcast};
  request.ranks = {2};
  request.sizes = {.begin = 64, .end = 64};
  EXPECT_NE(tuning_estimate(request).find("for 1 collective, 2 ranks, 1 size"), std::string::npos);
  const auto one = least_tuning_time(request);
  request.ranks = {2, 4, 8};
  EXPECT_DOUBLE_EQ(least_tuning_time(request).count(), 3 * one.count());
}

TEST(Trials, WhatLacksAPlacementIsLeftOut) {
  Report report;
  report.series = {series("fast", {10, 10}, {1, 1}), series("other", {5, 5}, {1, 1})};
  report.series[1].rows[0].timings[1].reset();
  const auto both = trials_of(report, 64, {Placement::out_of_place, Placement::in_place});
  ASSERT_EQ(both.trials.size(), 1U);
  EXPECT_EQ(both.trials[0].spec, "fast");
}

TEST(Candidates, EveryAlgorithmOfTheCollectiveIsThereOnceAndDiffersFromTheOthers) {
  for (const auto name : collective_names()) {
    const Collective collective = *parse_collective(name);
    if (collective == Collective::barrier) continue;
    for (const int ranks : {2, 3, 4, 8}) {
      const auto plain = tuning_candidates(collective, ranks, false);
      const auto sliced = tuning_candidates(collective, ranks, true);
      ASSERT_FALSE(plain.empty());
      EXPECT_GT(sliced.size(), plain.size());
      std::set<std::pair<std::uint64_t, std::uint64_t>> plans;  // by placement
      for (const auto& spec : sliced) {
        const auto hash = [&](bool in_place) {
          return make_plan(spec, {collective, ranks, 0, in_place}).hash();
        };
        const bool one_placement = collective == Collective::all_to_all;
        EXPECT_TRUE(plans.insert({hash(false), one_placement ? 0 : hash(true)}).second) << spec;
      }
      for (const auto& spec : plain)
        EXPECT_NE(std::find(sliced.begin(), sliced.end(), spec), sliced.end()) << spec;
    }
  }
  const auto four = tuning_candidates(Collective::all_reduce, 4, true);
  for (const auto wanted : {"two_shot", "two_shot:transfer=push", "one_shot:transfer=push",
                            "ring:slices=4", "chain:slices=16"})
    EXPECT_NE(std::find(four.begin(), four.end(), wanted), four.end()) << wanted;
}

TEST(Tune, AlgorithmsOfOtherCollectivesAreLeftOut) {
  TuneRequest request;
  request.collectives = {Collective::broadcast, Collective::all_gather};
  request.ranks = {2};
  request.sizes = {.begin = 64, .end = 64};
  request.time = Seconds{0.02};
  request.algorithms = {"bruck"};
  const auto silent = [](std::size_t, std::size_t, const std::string&) {};
  const TuningTable table = tune(request, silent);
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0].collective, Collective::all_gather);
  request.collectives = {Collective::broadcast};
  EXPECT_THROW((void)tune(request, silent), Error);
  request.algorithms = {"burck"};
  EXPECT_THROW((void)tune(request, silent), Error);
}

TEST(Tune, MakesATableThatReadsBackAndAnswers) {
  TuneRequest request;
  request.collectives = {Collective::all_reduce};
  request.ranks = {2};
  request.sizes = {.begin = 8, .end = 32768, .factor = 64};
  request.time = Seconds{0.3};
  request.algorithms = {"naive", "two_shot", "ring:slices=2"};
  std::vector<std::size_t> progress;
  const TuningTable table =
      tune(request, [&](std::size_t done, std::size_t total, const std::string&) {
        EXPECT_EQ(total, 3U);
        progress.push_back(done);
      });
  EXPECT_EQ(progress, (std::vector<std::size_t>{0, 1, 2}));
  ASSERT_EQ(table.rows.size(), 2U) << "one for each placement";
  for (const auto& row : table.rows) {
    EXPECT_EQ(row.collective, Collective::all_reduce);
    EXPECT_EQ(row.ranks, 2);
    ASSERT_EQ(row.measured.size(), 3U);
    EXPECT_EQ(row.measured[1].bytes, 512U);
    EXPECT_FALSE(row.measured[0].times.empty());
  }
  EXPECT_NE(table.rows[0].in_place, table.rows[1].in_place);
  EXPECT_FALSE(table.origin.date.empty());
  const TuningTable read = tuning_from_json(tuning_to_json(table), "made");
  EXPECT_EQ(read.rows, table.rows);
  const Choice choice =
      choose(read, {"host", table.rows[0].cores}, {Collective::all_reduce, 2, 0, true}, 512);
  EXPECT_NE(choice.why.find("measured at 512 B"), std::string::npos) << choice.why;
}

}  // namespace
}  // namespace ringside::bench::tests
