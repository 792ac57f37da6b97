// SPDX-License-Identifier: MIT
/// What the writers make of a report: ratios, tables, JSON, CSV, summary.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ringside/base/json.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/comparison.hpp"
#include "ringside/bench/json_report.hpp"
#include "ringside/bench/summary.hpp"
#include "ringside/bench/table.hpp"

namespace ringside::bench {
namespace {

Timing timing(std::vector<double> rounds) {
  Timing result;
  result.time = rounds.at(rounds.size() / 2);
  result.round_times = std::move(rounds);
  result.median = result.minimum = result.p95 = result.time;
  result.iterations = 100;
  result.check = CheckOutcome{};
  return result;
}

Series series(const std::string& label, std::vector<std::vector<double>> by_size) {
  Series one;
  one.label = label;
  one.ranks = 4;
  one.peer = label == "openmpi";
  std::uint64_t bytes = 8;
  for (auto& rounds : by_size) {
    one.rows.push_back({.type = ElementType::float32,
                        .op = ReduceOp::sum,
                        .bytes = bytes,
                        .count = bytes / 4,
                        .timings = {timing(std::move(rounds)), std::nullopt}});
    bytes *= 1024;
  }
  return one;
}

/// one_shot wins at 8 B, ring at 8 KiB; the peer is 2 and 4 times slower than the winner.
Report report() {
  Report result;
  result.request.ranks = {4};
  result.request.compare = {"openmpi"};
  result.machine.allowed_cores = 8;
  result.series.push_back(series("ring", {{3, 3, 3}, {10, 10, 10}}));
  result.series.back().facts =
      PlanFacts{.steps = 6, .ops = 24, .busiest_sent = 1.5, .memory_traffic = 15};
  result.series.push_back(series("one_shot", {{1, 1, 1}, {20, 20, 20}}));
  result.series.back().facts =
      PlanFacts{.steps = 1, .ops = 4, .busiest_sent = 3, .memory_traffic = 20};
  result.series.push_back(series("openmpi", {{2, 2, 2}, {40, 40, 40}}));
  result.series.back().detail = "MPI_Allreduce, processes, Open MPI v0";
  return result;
}

TEST(Comparison, TheSpeedupIsTheMedianOfSameRoundRatios) {
  // The machine slowed down in the second round: for both.
  EXPECT_DOUBLE_EQ(speedup(timing({1, 10, 2}), timing({3, 30, 4})), 3.0);
}

TEST(Comparison, AContestSortsOursAndSetsThePeerApart) {
  const auto one = report();
  const auto all = contests(one);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].bytes, 8U);
  EXPECT_EQ(all[0].ours.front().series->label, "one_shot");
  EXPECT_EQ(all[1].ours.front().series->label, "ring");
  EXPECT_EQ(all[1].ours.size(), 2U);
  ASSERT_EQ(all[1].peers.size(), 1U);
  EXPECT_EQ(best_peer(all[1])->series->label, "openmpi");
}

TEST(Comparison, TheBestPeerIsTheFastestLibraryAndNoLoopWrittenByHand) {
  auto one = report();
  one.series.push_back(series("other", {{3, 3, 3}, {30, 30, 30}}));
  one.series.push_back(series("baseline:ring", {{1, 1, 1}, {1, 1, 1}}));
  one.series[3].peer = one.series[4].peer = one.series[4].baseline = true;
  const auto all = contests(one);
  ASSERT_EQ(all[0].peers.size(), 3U);
  EXPECT_EQ(best_peer(all[0])->series->label, "openmpi");
  EXPECT_EQ(best_peer(all[1])->series->label, "other");
}

TEST(Table, MarksTheFastestOfOursAndShowsTheRatio) {
  const auto text = tables(report(), 0);
  EXPECT_NE(text.find("4 ranks, out of place, float sum"), std::string::npos) << text;
  EXPECT_NE(text.find("1.00*"), std::string::npos) << text;
  EXPECT_NE(text.find("10.0*"), std::string::npos) << text;
  EXPECT_NE(text.find("2.00x"), std::string::npos) << text;
  EXPECT_NE(text.find("4.00x"), std::string::npos) << text;
  EXPECT_EQ(text.find("FAILED"), std::string::npos) << text;
}

TEST(Table, WrongResultsCannotBeOverlooked) {
  auto one = report();
  one.series[0].rows[1].timings[0]->check = CheckOutcome{.wrong = 5, .failed_ranks = 3};
  const auto text = tables(one, 0);
  EXPECT_NE(text.find("10.0!*"), std::string::npos) << text;
  EXPECT_NE(text.find("3 checks FAILED"), std::string::npos) << text;
}

TEST(Table, MarksTimesWhoseRoundsDifferTooMuch) {
  auto one = report();
  EXPECT_EQ(tables(one, 0).find('~'), std::string::npos);
  one.series[0].rows[1].timings[0]->round_times = {10, 10, 20};
  EXPECT_EQ(tables(one, 0).find('~'), std::string::npos);
  one.series[0].rows[1].timings[0]->round_times = {10, 10, 20.1};
  one.series[2].rows[0].timings[0]->round_times = {0.9, 2, 2};  // a peer
  const auto text = tables(one, 0);
  EXPECT_NE(text.find(" ~10.0*"), std::string::npos) << text;
  EXPECT_NE(text.find(" ~2.00 "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  ~ the rounds differ by more than 2x: measure again"), std::string::npos)
      << text;
}

TEST(Table, TheRatioTableIsAllCommentsAndSaysWhatIsNotAlike) {
  const auto text = ratio_table(report());
  for (const auto line : split(text, '\n'))
    if (!line.empty()) {
      EXPECT_EQ(line[0], '#') << line;
    }
  EXPECT_NE(text.find("measured"), std::string::npos);
  EXPECT_NE(text.find("Threads against processes"), std::string::npos);
  auto alone = report();
  alone.series.pop_back();
  EXPECT_EQ(ratio_table(alone), "");
}

TEST(Summary, OfOneAlgorithmSaysWhyThereIsNone) {
  auto alone = report();
  alone.series.erase(alone.series.begin() + 1, alone.series.end());
  auto text = summary(alone);
  for (auto& c : text)
    if (c == '\n') c = ' ';
  EXPECT_EQ(text.find("was fastest"), std::string::npos) << text;
  EXPECT_NE(text.find("was measured, so there is nothing to compare it with"), std::string::npos)
      << text;
}

TEST(Table, SaysWhyARatioIsNotThatOfItsColumns) {
  auto one = report();
  one.request.compare = {"openmpi"};
  EXPECT_NE(table_title(one).find("medians of same-round ratios"), std::string::npos);
  one.request.compare.clear();
  EXPECT_EQ(table_title(one).find("medians of same-round ratios"), std::string::npos);
}

TEST(Table, NamesTheOptionsSet) {
  auto one = report();
  EXPECT_EQ(table_title(one).find("options set"), std::string::npos);
  one.options = {{"checksum", "1"}};
  EXPECT_NE(table_title(one).find("\n# options set: checksum=1\n"), std::string::npos);
}

TEST(ColdBuffers, NameTheirVolume) {
  BenchRequest request;
  request.buffers = Buffers::cold;
  EXPECT_NE(buffers_remark(request).find("left the caches"), std::string::npos);
  request.cold_bytes = 1 << 20;
  EXPECT_EQ(buffers_remark(request),
            "# cold buffers: every call has others, out of 1 MiB a rank\n");
}

TEST(Summary, NamesWinnersTheirLeadAndTheCountsBehindIt) {
  auto text = summary(report());
  for (auto& c : text)
    if (c == '\n') c = ' ';
  EXPECT_TRUE(text.starts_with("Measured here")) << text;
  EXPECT_NE(
      text.find("one_shot was fastest at 8 B (3.0x ahead of ring): it has the fewest steps (1)"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("ring was fastest at 8 KiB (2.0x ahead of one_shot): it has the least memory "
                      "traffic (15x the message; the busiest rank sends 1.5x)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("from 2.0 (8 B out of place, 4 ranks) to 4.0 (8 KiB out of place, 4 ranks)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("not like for like"), std::string::npos) << text;
}

std::string summary_line(const Report& report) {
  auto text = summary(report);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

TEST(Summary, ExplainsNothingByPlansThatDidNotRun) {
  auto one = report();
  for (auto& series : one.series) {
    if (series.facts) series.facts->is_definition = series.label == "one_shot";
    for (auto& row : series.rows) row.asked = row.bytes;
  }
  const auto text = summary_line(one);
  EXPECT_EQ(text.find("fewest steps"), std::string::npos) << text;
  EXPECT_NE(text.find("at 8 B inputs of one_shot travelled in the call itself (3.0x ahead of "
                      "ring): the same for all such algorithms, as no plan ran (--set inline=0 "
                      "runs it); ring was fastest at 8 KiB"),
            std::string::npos)
      << text;
  one.series[0].facts->is_definition = true;  // then nobody leads
  EXPECT_NE(
      summary_line(one).find("at 8 B inputs of one_shot, ring travelled in the call itself: "),
      std::string::npos)
      << summary_line(one);
  set_option("inline", "0");
  EXPECT_NE(summary_line(one).find("it has the fewest steps (1)"), std::string::npos);
  reset_option("inline");
}

TEST(Summary, SaysWhereALeaderIsLevelWithAnother) {
  Report one;
  one.request.ranks = {4};
  one.series = {series("ring", {{3, 3, 3}, {9.9, 9.9, 9.9}}),
                series("one_shot", {{1, 1, 1}, {10, 10, 10}})};
  EXPECT_NE(summary_line(one).find("one_shot was fastest from 8 B to 8 KiB (at best 3.0x ahead of "
                                   "ring at 8 B; level with ring at 8 KiB)"),
            std::string::npos)
      << summary_line(one);
}

TEST(Json, HasNcclTestsKeysAndRealBooleans) {
  const JsonDocument document(json_report(report(), true), "report");
  const auto root = document.root();
  EXPECT_EQ(root["ringside_bench"].integer(), 1);
  EXPECT_FALSE(root.find("env"));
  EXPECT_FALSE(root.find("args"));
  EXPECT_FALSE(root.find("version"));
  EXPECT_TRUE(root["out_of_bounds"]["okay"].boolean());
  EXPECT_FALSE(root["config"]["parallel_init"].boolean());
  EXPECT_EQ(root["config"]["devices"].size(), 4U);
  const auto results = root["results"].items();
  ASSERT_EQ(results.size(), 6U);
  EXPECT_EQ(results[0]["algorithm"].text(), "ring");
  EXPECT_EQ(results[0]["kind"].text(), "measured");
  EXPECT_EQ(results[0]["out_of_place"]["nwrong"].integer(), 0);
  EXPECT_EQ(results[0]["out_of_place"]["median_us"].number(), 3.0);
  EXPECT_TRUE(results[0]["in_place"].is_null());
  const auto ratios = root["ratios"].items();
  ASSERT_EQ(ratios.size(), 4U);
  EXPECT_EQ(ratios[0]["algorithm"].text(), "one_shot");
  EXPECT_EQ(ratios[0]["peer_time_over_ours"].number(), 2.0);
  EXPECT_TRUE(ratios[0]["fastest_of_ours"].boolean());
}

TEST(Comparison, CollectivesAreContestsOfTheirOwn) {
  auto one = report();
  one.request.collectives = {Collective::all_gather, Collective::all_reduce};
  auto other = series("ring", {{1, 1, 1}, {2, 2, 2}});
  other.collective = Collective::all_gather;
  one.series.push_back(other);
  const auto all = contests(one);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].collective, Collective::all_gather);  // in the request's order
  EXPECT_EQ(all[0].ours.size(), 1U);
  EXPECT_EQ(all[2].collective, Collective::all_reduce);
  EXPECT_EQ(all[2].ours.size(), 2U);
  const auto text = tables(one, 3);
  EXPECT_NE(text.find("all_gather, 4 ranks, out of place, float:"), std::string::npos) << text;
  EXPECT_EQ(text.find("one_shot"), std::string::npos) << text;
}

TEST(Comparison, RowsThatRoundToTheSameSizeStayApart) {
  auto one = report();
  one.series.resize(1);
  for (auto& row : one.series[0].rows) {
    row.asked = row.bytes;
    row.bytes = 0;
  }
  EXPECT_EQ(contests(one).size(), 2U);
}

TEST(Table, SaysWhatAutoRan) {
  auto one = report();
  one.series.resize(1);
  one.series[0].label = "auto";
  one.series[0].rows[0].timings[0]->spec = one.series[0].rows[1].timings[0]->spec = "one_shot";
  EXPECT_NE(tables(one, 0).find("auto ran: one_shot 8 B to 8 KiB\n"), std::string::npos)
      << tables(one, 0);
  one.series[0].rows[1].timings[0]->spec = "ring";
  EXPECT_NE(tables(one, 0).find("auto ran: one_shot 8 B, ring 8 KiB\n"), std::string::npos);
}

TEST(Json, EveryResultIsReadBackAsItWasWritten) {
  auto one = report();
  one.request.collectives = {Collective::all_reduce, Collective::scatter, Collective::all_to_all};
  one.request.exact_counts = true;
  one.request.buffers = Buffers::cold;
  auto scatter = series("linear", {{0.1, 0.3, 1.0 / 3}, {7, 8, 9}});
  scatter.collective = Collective::scatter;
  scatter.root = 3;
  scatter.rows[1].asked = 8200;
  scatter.rows[1].timings[1] = timing({5, 6, 7});
  scatter.rows[1].timings[1]->check->wrong = 12;
  auto to_all = series("auto", {{2, 2, 2}});
  to_all.collective = Collective::all_to_all;
  to_all.rows[0].timings[0]->spec = "pairwise";
  one.series.push_back(scatter);
  one.series.push_back(to_all);

  const JsonDocument document(json_report(one, false), "report");
  const auto config = document.root()["config"];
  EXPECT_EQ(config["buffers"].text(), "cold");
  EXPECT_TRUE(config["exact_counts"].boolean());
  EXPECT_EQ(document.root()["collectives"].size(), 3U);
  std::size_t at = 0;
  const auto results = document.root()["results"].items();
  for (const auto& expected : one.series)
    for (const auto& row : expected.rows) {
      const auto result = results.at(at++);
      EXPECT_EQ(result["collective"].text(), to_string(expected.collective));
      EXPECT_EQ(result["algorithm"].text(), expected.label);
      EXPECT_EQ(result["ranks"].integer(), expected.ranks);
      EXPECT_EQ(result["redop"].text(), redop_name(expected.collective, row.op));
      EXPECT_EQ(result["root"].integer(), root_column(expected.collective, expected.root));
      EXPECT_EQ(result["asked_size"].integer(), static_cast<std::int64_t>(row.asked));
      EXPECT_EQ(result["size"].integer(), static_cast<std::int64_t>(row.bytes));
      EXPECT_EQ(result["count"].integer(), static_cast<std::int64_t>(row.count));
      for (const auto placement : placements) {
        const auto json = result[placement == Placement::in_place ? "in_place" : "out_of_place"];
        const auto& timing = row.at(placement);
        ASSERT_EQ(json.is_null(), !timing.has_value());
        if (!timing) continue;
        EXPECT_EQ(json["time"].number(), timing->time);
        EXPECT_EQ(json["bus_bw"].number(), bus_bandwidth(expected, row, *timing));
        EXPECT_EQ(json["nwrong"].integer(), static_cast<std::int64_t>(timing->check->wrong));
        EXPECT_EQ(json.find("algorithm").has_value(), !timing->spec.empty());
        const auto rounds = json["round_times_us"].items();
        ASSERT_EQ(rounds.size(), timing->round_times.size());
        for (std::size_t i = 0; i < rounds.size(); ++i)
          EXPECT_EQ(rounds[i].number(), timing->round_times[i]);
      }
    }
  EXPECT_EQ(at, results.size());
}

TEST(Json, RoundsAreThoseThatWereRun) {
  auto one = report();
  one.request.rounds = 5;
  const auto rounds = [&] {
    const JsonDocument document(json_report(one, false), "report");
    return document.root()["config"]["rounds"].integer();
  };
  EXPECT_EQ(rounds(), 5);
  one.request.iterations = 3;
  EXPECT_EQ(rounds(), 3);
  one.request.iterations = 100;
  EXPECT_EQ(rounds(), 5);
}

TEST(Csv, HasAsManyFieldsInEveryLine) {
  auto one = report();
  one.series[0].label = "ring:order=1-0,slices=2";
  std::size_t lines = 0;
  const auto text = csv_report(one);
  for (const auto line : split(text, '\n')) {
    if (line.empty()) continue;
    bool quoted = false;
    int commas = 0;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) ++commas;
    }
    EXPECT_EQ(commas, 22) << line;
    ++lines;
  }
  EXPECT_EQ(lines, 7U);
}

}  // namespace
}  // namespace ringside::bench
