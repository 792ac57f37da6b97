// SPDX-License-Identifier: MIT
/// The loops written by hand: what plans are measured against must be right itself.
#include <gtest/gtest.h>

#include <vector>

#include "ringside/bench/baselines/baseline_subject.hpp"
#include "ringside/bench/baselines/loops.hpp"
#include "ringside/bench/sweep.hpp"

namespace ringside::bench {
namespace {

using baselines::Stores;

TEST(Loops, FoldOfAllBuffersLeavesTheSumInAll) {
  constexpr std::size_t length = 100;
  for (const auto stores : {Stores::ordinary, Stores::streaming})
    for (std::size_t n = 1; n <= 8; ++n) {
      alignas(64) static float memory[8][128];
      std::vector<const float*> inputs;
      std::vector<float*> outputs;
      for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t i = 0; i < 128; ++i) memory[k][i] = static_cast<float>(k * 1000 + i);
        inputs.push_back(memory[k]);
        outputs.push_back(memory[k]);
      }
      fold_all(inputs, outputs, 16, length - 16, stores);
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t i = 0; i < 128; ++i) {
          const auto own = static_cast<float>(k * 1000 + i);
          const auto sum = static_cast<float>(n * (n - 1) * 500 + n * i);
          EXPECT_EQ(memory[k][i], i < 16 || i >= length ? own : sum) << n << " " << k << " " << i;
        }
    }
}

/// Counts around whole cache lines, fewer than ranks, and more than a page.
TEST(Baseline, EveryAllReduceIsRightInBothPlacements) {
  for (const int ranks : {1, 2, 3, 8}) {
    BenchRequest request;
    HostStage stage({.collective = Collective::all_reduce, .ranks = ranks}, 64 << 10, request);
    for (const auto name : baseline_names()) {
      const auto subject = make_baseline(name, stage);
      for (const std::uint64_t count : {0U, 1U, 2U, 16U, 17U, 250U, 10'007U})
        for (const auto placement : placements) {
          const Cell cell{.count = count, .placement = placement};
          stage.fill_with_ones(cell.type, count);
          const auto times = subject->time(cell, {.samples = 2, .calls_per_sample = 3});
          EXPECT_EQ(times.sample_seconds.size(), 2U);
          const auto outcome = subject->check(cell);
          if (outcome) {
            EXPECT_EQ(outcome->wrong, 0U)
                << name << " " << ranks << " ranks, " << count << " " << to_string(placement);
          }
        }
    }
  }
}

TEST(Baseline, OnlyTheBareStreamsAreNoAllReduce) {
  BenchRequest request;
  HostStage stage({.collective = Collective::all_reduce, .ranks = 2}, 1024, request);
  for (const auto name : baseline_names()) {
    const bool stream = name.find("stream") != std::string_view::npos;
    EXPECT_EQ(make_baseline(name, stage)->check({.count = 10}).has_value(), !stream) << name;
  }
}

TEST(Baseline, OtherTypesAreRefused) {
  BenchRequest request;
  HostStage stage({.collective = Collective::all_reduce, .ranks = 2}, 1024, request);
  const auto subject = make_baseline("baseline:ring", stage);
  EXPECT_FALSE(subject->refusal({.count = 10}).has_value());
  EXPECT_TRUE(subject->refusal({.type = ElementType::float64, .count = 10}).has_value());
  EXPECT_TRUE(subject->refusal({.op = ReduceOp::max, .count = 10}).has_value());
}

TEST(Baseline, TakesTurnsWithAlgorithmsAndIsNoLibrary) {
  BenchRequest request;
  request.algorithms = {"ring"};
  request.compare = {"baseline:ring"};
  request.sizes = {.begin = 64, .end = 64, .factor = 2, .step = 0};
  request.iterations = 4;
  request.rounds = 2;
  for (const auto buffers : {Buffers::warm, Buffers::rewritten}) {
    request.buffers = buffers;
    const auto report = run_sweep(request);
    ASSERT_EQ(report.series.size(), 2U);
    EXPECT_TRUE(report.series[1].peer);
    EXPECT_TRUE(report.series[1].baseline);
    EXPECT_EQ(report.series[1].rows.at(0).timings[0]->round_times.size(), 2U);
    EXPECT_TRUE(all_right(report));
  }
}

}  // namespace
}  // namespace ringside::bench
