// SPDX-License-Identifier: MIT
/// How often calls are repeated, and the reduction of their times, on a subject that keeps its own
/// clock.
#include "ringside/bench/measure.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace ringside::bench {
namespace {

/// Two ranks; a call takes rank 0 `call` seconds and rank 1 twice that. Honours a block's limit.
class FakeSubject final : public Subject {
 public:
  FakeSubject(std::string name, double call, std::string& log)
      : name_(std::move(name)), call_(call), log_(log) {}

  /// From the block of that number on, calls take `factor` times as long.
  void slow_down(std::size_t from_block, double factor) {
    slow_from_ = from_block;
    factor_ = factor;
  }
  [[nodiscard]] double elapsed() const { return elapsed_; }

  [[nodiscard]] Series describe() const override {
    Series series;
    series.label = name_;
    return series;
  }
  [[nodiscard]] std::optional<std::string> refusal(const Cell&) const override {
    return std::nullopt;
  }
  BlockTimes time(const Cell&, const Block& block) override {
    log_ += name_;
    blocks.push_back(block);
    const double call = blocks.size() > slow_from_ ? call_ * factor_ : call_;
    std::int64_t samples = 1;
    const auto sample = static_cast<double>(block.calls_per_sample) * 2 * call;
    while (samples < block.samples &&
           (!block.limit || static_cast<double>(samples) * sample <= block.limit->count()))
      ++samples;
    const auto calls = static_cast<double>(samples * block.calls_per_sample);
    elapsed_ += 2 * calls * call;
    return {.rank_seconds = {calls * call, 2 * calls * call},
            .sample_seconds = std::vector<double>(static_cast<std::size_t>(samples), 2 * call)};
  }
  std::optional<CheckOutcome> check(const Cell&) override {
    log_ += "?";
    return CheckOutcome{.wrong = 3, .failed_ranks = 1};
  }

  std::vector<Block> blocks;

 private:
  std::string name_;
  double call_;
  std::string& log_;
  std::size_t slow_from_ = std::numeric_limits<std::size_t>::max();
  double factor_ = 1;
  double elapsed_ = 0;
};

TEST(Block, ASampleIsLongEnoughForTheClock) {
  const Block block = block_within(0.1e-6, Seconds(0.01));
  EXPECT_EQ(block.calls_per_sample, 50);  // 100,000 calls: at most 2,000 samples
  EXPECT_EQ(block.samples, 2000);
  const Block fewer = block_within(0.1e-6, Seconds(0.001));
  EXPECT_EQ(fewer.calls_per_sample, 20);  // 2 us
  EXPECT_EQ(fewer.samples, 500);
}

TEST(Block, LongCallsAreSamplesOfTheirOwn) {
  const Block block = block_within(1e-3, Seconds(0.0105));
  EXPECT_EQ(block.calls_per_sample, 1);
  EXPECT_EQ(block.samples, 10);
  EXPECT_EQ(block_within(5.0, Seconds(0.01)).samples, 1);
}

TEST(Block, AGivenNumberOfCallsIsNeverCutShort) {
  for (const std::int64_t calls : {1, 7, 20, 1999, 2001, 12345, 1'000'000})
    for (const double call : {1e-8, 1e-6, 1e-3}) {
      const Block block = block_of(calls, call);
      EXPECT_GE(block.samples * block.calls_per_sample, calls);
      EXPECT_LT((block.samples - 1) * block.calls_per_sample, calls);
      EXPECT_LE(block.samples, 2000);
      EXPECT_GE(block.calls_per_sample, 1);
    }
}

TEST(Measure, SubjectsTakeTurnsAndAreCheckedAtTheEnd) {
  std::string log;
  FakeSubject a("a", 0.01, log);
  FakeSubject b("b", 0.01, log);
  BenchRequest request;
  request.rounds = 3;
  const auto timings = measure({&a, &b}, {}, request);
  EXPECT_EQ(log,
            "ab"
            "ababab"
            "??");  // calibration, rounds, checks
  ASSERT_EQ(timings.size(), 2U);
  EXPECT_EQ(timings[0].round_times.size(), 3U);
  EXPECT_EQ(timings[0].check->wrong, 3U);
}

TEST(Measure, TheRowsTimeIsTheMeanOverRanksAndTheSamplesAreTheSlowestRanks) {
  std::string log;
  FakeSubject subject("a", 100e-6, log);
  const auto timing = measure({&subject}, {}, BenchRequest{}).front();
  EXPECT_NEAR(timing.time, 150, 1e-6);
  EXPECT_NEAR(timing.median, 200, 1e-6);
  EXPECT_NEAR(timing.minimum, 200, 1e-6);
  EXPECT_NEAR(timing.p95, 200, 1e-6);
  EXPECT_NEAR(timing.skew, 100, 1e-6);
}

TEST(Measure, TheTimeIsKept) {
  std::string log;
  FakeSubject subject("a", 1e-6, log);
  BenchRequest request;
  request.time = Seconds(0.1);
  request.rounds = 4;
  const auto timing = measure({&subject}, {}, request).front();
  // The slowest rank takes 2 us a call.
  EXPECT_NEAR(static_cast<double>(timing.iterations), 0.1 / 2e-6, 2000);
}

TEST(Measure, AMachineThatSlowsDownCannotMakeItEndless) {
  std::string log;
  BenchRequest request;
  request.time = Seconds(0.1);
  for (const std::size_t from : {1, 3, 5, 7}) {  // in the trials; in the rounds
    FakeSubject slow("a", 1e-6, log);
    FakeSubject other("b", 1e-6, log);
    slow.slow_down(from, 10'000);  // 20 ms a call: the rounds planned would take 1,000 s
    const auto timings = measure({&slow, &other}, {}, request);
    EXPECT_LT(slow.elapsed() + other.elapsed(), 3);
    EXPECT_EQ(timings[0].round_times.size(), timings[1].round_times.size());
    EXPECT_GE(timings[0].round_times.size(), 1U);
  }
}

TEST(Measure, AfterASlowBlockTheNextHasFewerCalls) {
  std::string log;
  FakeSubject subject("a", 10e-6, log);
  BenchRequest request;
  request.time = Seconds(0.5);
  subject.slow_down(4, 10);
  (void)measure({&subject}, {}, request);
  const auto calls = [&](std::size_t block) {
    return subject.blocks.at(block).samples * subject.blocks.at(block).calls_per_sample;
  };
  const std::size_t last = subject.blocks.size() - 1;
  EXPECT_LT(calls(last), calls(last - 3) / 5);
}

TEST(Measure, CallsThatWereAskedForAreMadeHoweverLongTheyTake) {
  std::string log;
  FakeSubject subject("a", 1e-6, log);
  subject.slow_down(1, 10'000);
  BenchRequest request;
  request.iterations = 100;
  EXPECT_EQ(measure({&subject}, {}, request).front().iterations, 100);
}

TEST(Measure, BuffersAreThoseAskedForInTrialsToo) {
  std::string log;
  FakeSubject subject("a", 1e-3, log);
  BenchRequest request;
  request.buffers = Buffers::rewritten;
  (void)measure({&subject}, {}, request);
  for (const auto& block : subject.blocks) EXPECT_EQ(block.buffers, Buffers::rewritten);
}

TEST(Measure, AFixedNumberOfCallsIsSpreadOverTheRounds) {
  std::string log;
  FakeSubject subject("a", 1e-3, log);
  BenchRequest request;
  request.iterations = 20;
  EXPECT_EQ(measure({&subject}, {}, request).front().iterations, 20);
  request.iterations = 3;
  const auto few = measure({&subject}, {}, request).front();
  EXPECT_EQ(few.iterations, 3);
  EXPECT_EQ(few.round_times.size(), 3U);
}

TEST(Measure, WarmUpComesFirstAndNoCheckMeansNone) {
  std::string log;
  FakeSubject subject("a", 0.01, log);
  BenchRequest request;
  request.warmup = 4;
  request.check = false;
  const auto timing = measure({&subject}, {}, request).front();
  EXPECT_EQ(subject.blocks.front().lead_in, 4);
  EXPECT_FALSE(timing.check.has_value());
  EXPECT_EQ(log.find('?'), std::string::npos);
}

}  // namespace
}  // namespace ringside::bench
