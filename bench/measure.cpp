// SPDX-License-Identifier: MIT
#include "ringside/bench/measure.hpp"

#include <algorithm>
#include <cmath>

#include "ringside/bench/statistics.hpp"

namespace ringside::bench {
namespace {

/// Reading the clock takes about 22 ns, 1 % of this.
constexpr double shortest_sample = 2e-6;
constexpr std::int64_t most_samples = 2000;

/// Calls shorter than this are led in by calls of their own: the ranks wake up within tens of
/// microseconds of each other, and caches and predictors still hold the previous subject's work.
/// For longer ones that is below a percent, and a message of one element brings the ranks together.
constexpr double needs_lead_in = 1e-3;

double slowest(const BlockTimes& times) { return maximum(times.rank_seconds); }

/// Seconds a call, from trial blocks that grow until one takes a quarter of `limit` or a
/// millisecond; a single call says little when it is short.
double calibrate(Subject& subject, const Cell& cell, int warmup, Seconds limit) {
  const double enough = std::min(limit.count() / 4, 1e-3);
  Block block{.samples = 1, .calls_per_sample = 1, .lead_in = warmup};
  while (true) {
    const double seconds = slowest(subject.time(cell, block));
    if (seconds >= enough) return seconds / static_cast<double>(block.calls_per_sample);
    const double growth = std::clamp(1.5 * enough / std::max(seconds, 1e-9), 2.0, 20.0);
    block.calls_per_sample =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(block.calls_per_sample) * growth));
    block.lead_in = 1;
  }
}

/// What the rounds of one subject come to.
class Rounds {
 public:
  explicit Rounds(Block block) : block_(block) {}

  [[nodiscard]] const Block& block() const { return block_; }

  void add(const BlockTimes& times) {
    const auto calls = static_cast<double>(block_.samples * block_.calls_per_sample);
    round_times_.push_back(1e6 * mean(times.rank_seconds) / calls);
    skews_.push_back(1e6 * (maximum(times.rank_seconds) - minimum(times.rank_seconds)) / calls);
    for (const double seconds : times.sample_seconds) samples_.push_back(1e6 * seconds);
  }

  [[nodiscard]] Timing timing() const {
    Timing timing;
    timing.time = bench::median(round_times_);
    timing.round_times = round_times_;
    timing.median = bench::median(samples_);
    timing.minimum = bench::minimum(samples_);
    timing.p95 = percentile(samples_, 95);
    timing.skew = bench::median(skews_);
    timing.calls_per_sample = block_.calls_per_sample;
    timing.iterations =
        block_.samples * block_.calls_per_sample * static_cast<std::int64_t>(round_times_.size());
    return timing;
  }

 private:
  Block block_;
  std::vector<double> round_times_, skews_, samples_;
};

}  // namespace

Block block_within(double call, Seconds limit) {
  const double calls = std::floor(limit.count() / std::max(call, 1e-9));
  return block_of(static_cast<std::int64_t>(std::clamp(calls, 1.0, 1e12)), call);
}

Block block_of(std::int64_t calls, double call) {
  Block block;
  const double for_the_clock = std::ceil(shortest_sample / std::max(call, 1e-9));
  block.calls_per_sample =
      std::max(static_cast<std::int64_t>(for_the_clock), (calls + most_samples - 1) / most_samples);
  block.calls_per_sample = std::min(block.calls_per_sample, calls);
  block.samples = (calls + block.calls_per_sample - 1) / block.calls_per_sample;
  block.lead_in = call < needs_lead_in ? 2 : 0;
  return block;
}

std::vector<Timing> measure(const std::vector<Subject*>& subjects, const Cell& cell,
                            const BenchRequest& request) {
  std::int64_t rounds = request.rounds;
  if (request.iterations) rounds = std::min(rounds, std::max<std::int64_t>(*request.iterations, 1));
  const Seconds share = request.time / static_cast<double>(rounds);

  std::vector<Rounds> of_subject;
  for (Subject* subject : subjects) {
    const double call = calibrate(*subject, cell, request.warmup, share);
    of_subject.emplace_back(request.iterations
                                ? block_of((*request.iterations + rounds - 1) / rounds, call)
                                : block_within(call, share));
  }
  for (std::int64_t round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < subjects.size(); ++i)
      of_subject[i].add(subjects[i]->time(cell, of_subject[i].block()));

  std::vector<Timing> timings;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    timings.push_back(of_subject[i].timing());
    if (request.check) timings.back().check = subjects[i]->check(cell);
  }
  return timings;
}

}  // namespace ringside::bench
