// SPDX-License-Identifier: MIT
#include "ringside/bench/measure.hpp"

#include <algorithm>
#include <cmath>

#include "ringside/base/statistics.hpp"

namespace ringside::bench {
namespace {

constexpr std::int64_t most_samples = 2000;

/// Calls shorter than this are led in by calls of their own: the ranks wake up within tens of
/// microseconds of each other, and caches and predictors still hold the previous subject's work.
/// For longer ones that is below a percent, and a message of one element brings the ranks together.
constexpr double needs_lead_in = 1e-3;

double slowest(const BlockTimes& times) { return maximum(times.rank_seconds); }

/// How much longer than planned a block and all rounds may take.
constexpr double patience = 4;

/// A trial of so many calls. In many samples, so that it can end early.
Block trial_of(std::int64_t calls, const BenchRequest& request, Seconds limit) {
  constexpr std::int64_t samples = 100;
  Block block{.samples = 1,
              .calls_per_sample = (calls + samples - 1) / samples,
              .lead_in = 1,
              .buffers = request.buffers,
              .limit = limit * patience};
  block.samples = (calls + block.calls_per_sample - 1) / block.calls_per_sample;
  return block;
}

/// Seconds a call, from trials that grow until one takes a quarter of `limit` or a millisecond; a
/// single call says little when it is short.
double calibrate(Subject& subject, const Cell& cell, const BenchRequest& request, Seconds limit) {
  const double enough = std::min(limit.count() / 4, 1e-3);
  Block block = trial_of(1, request, limit);
  block.lead_in = request.warmup;
  while (true) {
    const BlockTimes times = subject.time(cell, block);
    const double seconds = slowest(times);
    const auto calls = static_cast<double>(times.sample_seconds.size()) *
                       static_cast<double>(block.calls_per_sample);
    // One that ended at its limit has taken long enough, but for the time that is not counted.
    const bool cut = static_cast<std::int64_t>(times.sample_seconds.size()) < block.samples;
    if (seconds >= enough || cut) return seconds / calls;
    const double growth = std::clamp(1.5 * enough / std::max(seconds, 1e-9), 2.0, 20.0);
    block = trial_of(static_cast<std::int64_t>(std::ceil(calls * growth)), request, limit);
  }
}

/// What the rounds of one subject come to.
class Rounds {
 public:
  /// Calls that take `call` seconds.
  Rounds(const BenchRequest& request, Seconds share, double call, Seconds shortest_sample)
      : request_(request), share_(share), call_(call), shortest_sample_(shortest_sample) {}

  /// The next round's.
  [[nodiscard]] Block block() const {
    const std::int64_t rounds = rounds_of(request_);
    Block block = request_.iterations ? block_of((*request_.iterations + rounds - 1) / rounds,
                                                 call_, shortest_sample_)
                                      : block_within(call_, share_, shortest_sample_);
    if (!request_.iterations) block.limit = share_ * patience;
    block.buffers = request_.buffers;
    return block;
  }

  /// Returns the seconds of the slowest rank.
  double add(const Block& block, const BlockTimes& times) {
    const auto made =
        static_cast<std::int64_t>(times.sample_seconds.size()) * block.calls_per_sample;
    const auto calls = static_cast<double>(made);
    calls_ += made;
    calls_per_sample_ = block.calls_per_sample;
    // Rounds stay alike unless the machine has changed, or the trial was interrupted.
    const double now = slowest(times) / calls;
    if (!request_.iterations && (now > 2 * call_ || now < call_ / 2)) call_ = now;
    round_times_.push_back(1e6 * mean(times.rank_seconds) / calls);
    skews_.push_back(1e6 * (maximum(times.rank_seconds) - minimum(times.rank_seconds)) / calls);
    if (!times.issue_seconds.empty())
      round_issue_times_.push_back(1e6 * mean(times.issue_seconds) / calls);
    round_medians_.push_back(1e6 * ringside::median(times.sample_seconds));
    for (const double seconds : times.sample_seconds) samples_.push_back(1e6 * seconds);
    return slowest(times);
  }

  void add(const RoundFacts& facts) { facts_.push_back(facts); }

  [[nodiscard]] Timing timing() const {
    Timing timing;
    timing.round_facts = facts_;
    timing.time = ringside::median(round_times_);
    timing.round_times = round_times_;
    if (!round_issue_times_.empty()) timing.issue_time = ringside::median(round_issue_times_);
    timing.round_medians = round_medians_;
    timing.median = ringside::median(samples_);
    timing.minimum = ringside::minimum(samples_);
    timing.p95 = percentile(samples_, 95);
    timing.skew = ringside::median(skews_);
    timing.calls_per_sample = calls_per_sample_;
    timing.iterations = calls_;
    return timing;
  }

 private:
  const BenchRequest& request_;
  Seconds share_;
  double call_;
  Seconds shortest_sample_;
  std::int64_t calls_ = 0, calls_per_sample_ = 1;
  std::vector<double> round_times_, round_issue_times_, round_medians_, skews_, samples_;
  std::vector<RoundFacts> facts_;
};

}  // namespace

Block block_within(double call, Seconds limit, Seconds shortest_sample) {
  const double calls = std::floor(limit.count() / std::max(call, 1e-9));
  return block_of(static_cast<std::int64_t>(std::clamp(calls, 1.0, 1e12)), call, shortest_sample);
}

Block block_of(std::int64_t calls, double call, Seconds shortest_sample) {
  Block block;
  const double for_the_clock = std::ceil(shortest_sample.count() / std::max(call, 1e-9));
  block.calls_per_sample =
      std::max(static_cast<std::int64_t>(for_the_clock), (calls + most_samples - 1) / most_samples);
  block.calls_per_sample = std::min(block.calls_per_sample, calls);
  block.samples = (calls + block.calls_per_sample - 1) / block.calls_per_sample;
  block.lead_in = call < needs_lead_in ? 2 : 0;
  return block;
}

std::vector<Timing> measure(const std::vector<Subject*>& subjects, const Cell& cell,
                            const BenchRequest& request, RoundWatch& watch) {
  const int rounds = rounds_of(request);
  const Seconds share = request.time / static_cast<double>(rounds);
  const double most = patience * request.time.count() * static_cast<double>(subjects.size());

  std::vector<Rounds> of_subject;
  for (Subject* subject : subjects)
    of_subject.emplace_back(request, share, calibrate(*subject, cell, request, share),
                            subject->shortest_sample());
  double spent = 0;
  for (int round = 0; round < rounds; ++round) {
    if (!request.iterations && spent > most) break;
    watch.begin_round();
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      const Block block = of_subject[i].block();
      const auto times = subjects[i]->time(cell, block);
      watch.end_block(times.foreign_cpu_seconds);
      spent += of_subject[i].add(block, times);
    }
    const auto facts = watch.end_round();
    for (std::size_t i = 0; i < facts.size(); ++i) of_subject[i].add(facts[i]);
  }

  std::vector<Timing> timings;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    timings.push_back(of_subject[i].timing());
    if (request.check) timings.back().check = subjects[i]->check(cell);
  }
  return timings;
}

}  // namespace ringside::bench
