// SPDX-License-Identifier: MIT
/// Whole benchmarks of real algorithms, and of one that is wrong.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/base/json.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/algorithm_subject.hpp"
#include "ringside/bench/bench.hpp"
#include "ringside/bench/nccl_tests_text.hpp"
#include "ringside/bench/sweep.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/tests/bench/nccl_rows.hpp"

namespace ringside::bench {
namespace {

/// Few calls of small messages.
BenchRequest small_request() {
  BenchRequest request;
  request.algorithms = {"ring", "naive"};
  request.ranks = {3};
  request.sizes = {.begin = 4, .end = 4000, .factor = 10, .step = 0};
  request.iterations = 4;
  request.rounds = 2;
  return request;
}

struct Printed {
  int exit_code = 0;
  std::string text;
};

Printed run(const BenchRequest& request, Format format, bool with_summary = false) {
  Printed printed;
  printed.exit_code = run_bench(
      request, {.format = format, .summary = with_summary, .print = [&](std::string_view text) {
                  printed.text += text;
                }});
  return printed;
}

TEST(RunBench, EveryAlgorithmGetsABlockOfRowsThatAreRight) {
  const auto printed = run(small_request(), Format::text);
  EXPECT_EQ(printed.exit_code, 0);
  const auto text = tests::read_nccl_text(printed.text);
  ASSERT_EQ(text.rows.size(), 8U);  // 2 algorithms x 4 sizes
  EXPECT_FALSE(text.has_incomplete_rows);
  EXPECT_EQ(text.out_of_bounds, "0 OK");
  for (const auto& row : text.rows) {
    EXPECT_EQ(row.fields, 13U);
    EXPECT_EQ(row.out_of_place->check, "0");
    EXPECT_EQ(row.in_place->check, "0");
    EXPECT_GT(row.out_of_place->time, 0);
  }
  const auto ring = printed.text.find("# algorithm: ring\n");
  const auto naive = printed.text.find("# algorithm: naive\n");
  EXPECT_LT(ring, naive);
  EXPECT_NE(naive, std::string::npos);
}

TEST(RunBench, ASingleAlgorithmPrintsTheSameTextRowByRow) {
  auto request = small_request();
  request.algorithms = {"ring"};
  int pieces = 0;
  std::string text;
  const int exit_code = run_bench(
      request, {.format = Format::text, .summary = false, .print = [&](std::string_view piece) {
                  text += piece;
                  ++pieces;
                }});
  EXPECT_EQ(exit_code, 0);
  EXPECT_GE(pieces, 5);
  EXPECT_TRUE(text.starts_with("# algorithm: ring\n"));
  EXPECT_EQ(tests::read_nccl_text(text).rows.size(), 4U);
  EXPECT_NE(text.find("# Avg bus bandwidth"), std::string::npos);
}

TEST(RunBench, AllTypesAndOperatorsAreMeasuredAndRight) {
  auto request = small_request();
  request.algorithms = {"ring"};
  request.sizes = {.begin = 0, .end = 1000, .factor = 0, .step = 1000};
  request.types = {all_element_types.begin(), all_element_types.end()};
  request.ops = {all_reduce_ops.begin(), all_reduce_ops.end()};
  request.iterations = 1;
  const auto report = run_sweep(request);
  ASSERT_EQ(report.series.size(), 1U);
  EXPECT_EQ(report.series[0].rows.size(), all_element_types.size() * all_reduce_ops.size() * 2);
  for (const auto& row : report.series[0].rows)
    for (const auto& timing : row.timings)
      EXPECT_EQ(timing->check->wrong, 0U)
          << to_string(row.type) << " " << to_string(row.op) << " " << row.bytes;
}

TEST(RunBench, EveryAlgorithmOfEveryCollectiveIsRightInRowsThatAnyReaderReads) {
  BenchRequest request;
  request.collectives = all_operations();
  request.ranks = {3};
  request.root = 1;
  request.sizes = {.begin = 12, .end = 3072, .factor = 16, .step = 0};
  request.iterations = 1;
  const auto report = run_sweep(request);
  std::set<std::string_view> seen;
  for (const auto& series : report.series) {
    SCOPED_TRACE(std::string(to_string(series.collective)) + " " + series.label);
    seen.insert(to_string(series.collective));
    const auto text = tests::read_nccl_text(text_block(report, series));
    EXPECT_EQ(text.rows.size(), is_barrier(series.collective) ? 1U : 3U);
    EXPECT_EQ(text.out_of_bounds, "0 OK");
    for (const auto& row : text.rows) {
      EXPECT_EQ(row.fields, 13U);
      EXPECT_EQ(row.out_of_place->check, "0");
      ASSERT_EQ(row.in_place.has_value(), can_be_in_place(series.collective));
      if (row.in_place) {
        EXPECT_EQ(row.in_place->check, "0");
      }
      EXPECT_EQ(row.size, row.count.value() * 4 * (has_block_per_rank(series.collective) ? 3 : 1));
    }
    for (const auto& row : series.rows)
      if (row.bytes > 0) {
        const auto& timing = row.timings[0].value();
        EXPECT_DOUBLE_EQ(
            bus_bandwidth(series, row, timing),
            static_cast<double>(row.bytes) / timing.time / 1e3 * bus_factor(series.collective, 3));
      }
  }
  EXPECT_EQ(seen.size(), all_operations().size());
}

TEST(RunBench, EveryTypeIsRightInEveryCollective) {
  BenchRequest request;
  request.collectives = all_operations();
  request.algorithms = {"auto"};
  request.sizes = {.begin = 960, .end = 960, .factor = 2, .step = 0};
  request.types = {all_element_types.begin(), all_element_types.end()};
  request.exact_counts = true;
  request.iterations = 1;
  request.pin = false;
  const auto report = run_sweep(request);
  EXPECT_TRUE(all_right(report));
  for (const auto& series : report.series)
    EXPECT_EQ(series.rows.size(), is_barrier(series.collective) ? 1U : all_element_types.size());
}

TEST(RunBench, AutoSaysWhatItRan) {
  auto request = small_request();
  request.algorithms = {"auto"};
  const auto report = run_sweep(request);
  for (const auto& row : report.series.at(0).rows)
    for (const auto& timing : row.timings) {
      EXPECT_NE(timing->spec, "");
      EXPECT_NE(timing->spec, "auto");
    }
  EXPECT_NE(run(request, Format::text).text.find("# auto ran "), std::string::npos);
}

TEST(RunBench, ANamedAlgorithmIsLeftOutOfCollectivesThatItDoesNotDo) {
  auto request = small_request();
  request.collectives = {Collective::all_reduce, Collective::broadcast};
  request.algorithms = {"ring", "binomial"};
  const auto report = run_sweep(request);
  ASSERT_EQ(report.series.size(), 3U);
  ASSERT_EQ(report.skipped.size(), 1U);
  EXPECT_EQ(report.skipped[0].label, "ring");
  EXPECT_EQ(report.skipped[0].collective, Collective::broadcast);
  request.collectives = {Collective::broadcast, Collective::reduce};
  EXPECT_THROW((void)run_sweep(request), Error);  // there is nothing that ring could do
}

TEST(RunBench, ColdAndRewrittenBuffersGiveRightRows) {
  for (const auto buffers : {Buffers::cold, Buffers::rewritten}) {
    auto request = small_request();
    request.collectives = {Collective::all_reduce, Collective::all_gather, Collective::scatter,
                           Collective::all_to_all, Operation::sendrecv()};
    request.algorithms = {"auto"};
    request.buffers = buffers;
    request.cold_bytes = 100'000;
    request.iterations = 100;
    const auto report = run_sweep(request);
    EXPECT_TRUE(all_right(report));
    for (const auto& series : report.series)
      for (const auto& row : series.rows) EXPECT_GT(row.timings[0]->time, 0);
    EXPECT_NE(run(request, Format::text).text.find(to_string(buffers)), std::string::npos);
  }
}

TEST(RunBench, OneRankAndOnePlacementAreLegal) {
  auto request = small_request();
  request.algorithms = {"ring"};
  request.ranks = {1, 2};
  request.measured = {false, true};
  const auto printed = run(request, Format::text);
  EXPECT_EQ(printed.exit_code, 0);
  const auto text = tests::read_nccl_text(printed.text);
  ASSERT_EQ(text.rows.size(), 8U);
  for (const auto& row : text.rows) {
    EXPECT_FALSE(row.out_of_place.has_value());
    EXPECT_TRUE(row.in_place.has_value());
  }
}

TEST(RunBench, ChecksCoverTheWholeMessageAndSayHowMuchTheReferenceSaw) {
  auto request = small_request();
  request.algorithms = {"ring"};
  request.sizes = {.begin = 4'000'000, .end = 4'000'000, .factor = 2, .step = 0};
  request.iterations = 1;
  const auto report = run_sweep(request);
  const auto& check = report.series[0].rows[0].timings[0]->check;
  ASSERT_TRUE(check.has_value());
  EXPECT_EQ(check->exact_bytes, 4'000'000U);
  EXPECT_GT(check->reference_bytes, 100'000U);
  EXPECT_LT(check->reference_bytes, 4'000'000U);
}

TEST(RunBench, JsonHoldsTheFactsAndNothingOfTheEnvironment) {
  ::setenv("BENCH_TEST_TOKEN", "s3cr3t-t0ken", 1);
  const auto printed = run(small_request(), Format::json, true);
  EXPECT_EQ(printed.text.find("s3cr3t"), std::string::npos);
  EXPECT_EQ(printed.text.find("BENCH_TEST_TOKEN"), std::string::npos);
  const JsonDocument document(printed.text, "output");
  const auto root = document.root();
  EXPECT_EQ(root["results"].size(), 8U);
  EXPECT_GE(root["machine"]["cores"].integer(), 1);
  const auto timing = root["results"].items()[0]["out_of_place"];
  EXPECT_LE(timing["min_us"].number(), timing["median_us"].number());
  EXPECT_LE(timing["median_us"].number(), timing["p95_us"].number());
  EXPECT_EQ(timing["iterations"].integer(), 4);
  EXPECT_EQ(root["algorithms"].items()[0]["counted_from_plan"]["steps"].integer(), 4);  // 2 (n - 1)
}

TEST(RunBench, WhatDoesNotSupportTheRequestIsLeftOutOfAllButRefusedByName) {
  register_algorithm({.name = "never",
                      .summary = "supports nothing",
                      .make = [](const Request&, const Parameters&) -> Algorithm {
                        throw Error(ErrorCode::unsupported, "never: not today");
                      }});
  auto request = small_request();
  request.algorithms = {};
  request.sizes = {.begin = 64, .end = 64, .factor = 2, .step = 0};
  request.iterations = 1;
  const auto printed = run(request, Format::table);
  EXPECT_NE(printed.text.find("# skipped: never (all_reduce, 3 ranks): never: not today\n"),
            std::string::npos)
      << printed.text;
  request.algorithms = {"ring", "never"};
  EXPECT_THROW((void)run_sweep(request), Error);
}

TEST(RunBench, TheHeaderOfASingleAlgorithmIsThereBeforeItsFirstRow) {
  auto request = small_request();
  request.algorithms = {"ring"};
  std::vector<std::string> pieces;
  (void)run_bench(request, {.format = Format::text, .summary = false, .print = [&](auto piece) {
                              pieces.emplace_back(piece);
                            }});
  ASSERT_GE(pieces.size(), 3U);
  EXPECT_TRUE(pieces[0].starts_with("# algorithm: ring\n")) << pieces[0];
  EXPECT_TRUE(pieces[0].ends_with(" \n"));
  EXPECT_EQ(pieces[1].find('#'), std::string::npos) << "a row alone: " << pieces[1];
}

TEST(RunBench, MessagesThatDoNotFitTheMemoryAreRefused) {
  auto request = small_request();
  request.sizes = {
      .begin = std::uint64_t{1} << 60, .end = std::uint64_t{1} << 60, .factor = 2, .step = 0};
  try {
    (void)run_sweep(request);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find("--end"), std::string::npos) << error.what();
  }
}

TEST(Team, TheFirstErrorOfARankReachesTheCallerAndNobodyHangs) {
  Team team(3);
  int calls[3] = {};
  team.each([&](Communicator& communicator) { ++calls[communicator.rank()]; });
  EXPECT_EQ(calls[0] + calls[1] + calls[2], 3);
  try {
    team.each([](Communicator& communicator) {
      if (communicator.rank() == 1) throw Error(ErrorCode::io, "rank 1 has had enough");
      float value = 1;
      communicator.all_reduce(std::span(&value, 1));  // waits for rank 1
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 1 has had enough");
  }
}

TEST(PlanFacts, AreThoseOfTheAlgorithm) {
  const auto facts = [](const char* spec, Collective collective) {
    return plan_facts(spec, {.collective = collective, .ranks = 4, .root = 0, .in_place = false});
  };
  const auto ring = facts("ring", Collective::all_reduce);
  EXPECT_EQ(ring.steps, 6);
  EXPECT_DOUBLE_EQ(ring.busiest_sent, 1.5);  // 2 (n - 1) / n of the message
  for (const auto collective : {Collective::all_gather, Collective::reduce_scatter}) {
    EXPECT_EQ(facts("ring", collective).steps, 3);
    EXPECT_DOUBLE_EQ(facts("ring", collective).busiest_sent, 0.75);
  }
  EXPECT_DOUBLE_EQ(facts("pairwise", Collective::all_to_all).busiest_sent, 0.75);
  EXPECT_DOUBLE_EQ(facts("linear", Collective::scatter).busiest_sent, 0.75);
}

}  // namespace
}  // namespace ringside::bench
