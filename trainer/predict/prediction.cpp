// SPDX-License-Identifier: MIT
#include "ringside/trainer/predict/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/simulated/uncertainty.hpp"
#include "ringside/collectives/layout.hpp"

namespace ringside::trainer {
namespace {

constexpr auto predictable =
    std::to_array({StrategyKind::single, StrategyKind::data_parallel, StrategyKind::from_scratch,
                   StrategyKind::distributed, StrategyKind::sharded});

/// Of a batch that ranks share, of the one with most samples; 1 / ranks where nothing is told of
/// samples.
double largest_share(double samples, int ranks) {
  return samples > 0 ? std::ceil(samples / ranks) / samples : 1.0 / ranks;
}

/// The calls of one step, as they are made.
class Step {
 public:
  Step(CallTimes& times, const PredictedTraining& training, const TrainingWay& way)
      : times_(times), training_(training), way_(way) {
    const double share = training.split ? largest_share(training.samples, way.ranks) : 1.0;
    const DeviceSpeed speed = training.speed.scaled(share);
    const auto passes = static_cast<double>(training.passes);
    step_.computing = passes * speed.seconds;
    step_.backward = speed.seconds * speed.backward_share;
    step_.batches = training.split ? passes : passes * way.ranks;
    step_.gradient_bytes = static_cast<double>(training.profile.gradients.numbers() * wire_bytes());
    samples_of_rank_ =
        static_cast<std::size_t>(std::llround(std::max(training.samples * share, 1.0)));
  }

  /// As strategies/data_parallel.cpp makes them: nothing is computed meanwhile.
  void data_parallel() {
    const auto& profile = training_.profile;
    const std::size_t all = profile.gradients.elements();
    behind(Collective::broadcast, all, size_of(training_.type));
    for (std::size_t pass = 0; pass < training_.passes; ++pass) {
      if (profile.sample_bytes == 0 || training_.samples == 0) continue;
      const std::size_t outputs = samples_of_rank_ * profile.sample_outputs;
      behind(Collective::scatter, samples_of_rank_ * profile.sample_bytes, 1);
      behind(Collective::gather, outputs, size_of(training_.type));
      behind(Collective::scatter, outputs, size_of(training_.type));
    }
    behind(Collective::reduce, all, wire_bytes());
  }

  /// As strategies/from_scratch.cpp: tensor by tensor behind the backward pass.
  void from_scratch() {
    const TensorLayout& gradients = training_.profile.gradients;
    for (std::size_t tensor = 0; tensor < gradients.size(); ++tensor)
      sum(gradients.extent(tensor).length, 1);
  }

  /// As strategies/distributed.cpp: bucket by bucket.
  void distributed() {
    for (const Bucket& bucket :
         make_buckets(training_.profile.gradients, wire_type(), training_.buckets))
      sum(bucket.extent.length, ready_of(bucket.extent));
  }

  /// As strategies/sharded.cpp: buckets to their owners while the backward pass goes on, and the
  /// updated parameters to everybody behind it. With gradients sharded, every pass sends its own.
  void sharded() {
    const auto buckets = sharded_buckets();
    for (const Extent& bucket : buckets)
      part(Collective::reduce_scatter, bucket, wire_bytes(), ready_of(bucket));
    if (training_.zero_stage == 2)
      for (std::size_t pass = 1; pass < training_.passes; ++pass) end_pass();
    for (const Extent& bucket : buckets)
      part(Collective::all_gather, bucket, size_of(training_.type), 1);
  }

  [[nodiscard]] PredictedStep result() {
    end_pass();
    return step_;
  }

 private:
  [[nodiscard]] ElementType wire_type() const {
    return training_.narrow_wire ? ElementType::bfloat16 : training_.type;
  }
  [[nodiscard]] std::size_t wire_bytes() const { return size_of(wire_type()); }

  [[nodiscard]] std::vector<Extent> sharded_buckets() const {
    const TensorLayout& gradients = training_.profile.gradients;
    if (training_.zero_stage == 2)
      return make_runs(gradients.elements(), wire_type(), training_.buckets);
    std::vector<Extent> extents;
    for (const Bucket& bucket : make_buckets(gradients, wire_type(), training_.buckets))
      extents.push_back(bucket.extent);
    return extents;
  }

  /// When the last of a run of gradients is ready.
  [[nodiscard]] double ready_of(const Extent& run) const {
    if (!training_.overlap) return 1;
    const TensorLayout& gradients = training_.profile.gradients;
    double ready = 0;
    for (std::size_t tensor = 0; tensor < gradients.size(); ++tensor) {
      const Extent own = gradients.extent(tensor);
      if (own.offset < run.offset + run.length && run.offset < own.offset + own.length)
        ready = std::max(ready, training_.profile.ready[tensor]);
    }
    return ready;
  }

  /// Counts the calls so far as those of a pass.
  void end_pass() {
    const Overlap pass = overlap_of(calls_, step_.backward);
    step_.calls.communication += pass.communication;
    step_.calls.hidden += pass.hidden;
    step_.calls.exposed += pass.exposed;
    step_.waiting += waiting_;
    step_.count += calls_.size();
    step_.small += small_;
  }

  void sum(std::size_t elements, double ready) {
    add({{Collective::all_reduce, way_.ranks, 0, true}, elements, wire_bytes()}, way_.algorithm,
        ready);
  }
  /// Of a rank's part of a bucket each; the longest counts.
  void part(Collective collective, const Extent& bucket, std::size_t element_bytes, double ready) {
    const std::size_t longest =
        part_of(bucket.length, static_cast<std::size_t>(way_.ranks), 0).length;
    add({{collective, way_.ranks, 0, false}, longest, element_bytes}, {}, ready);
  }
  /// Between passes: as good as behind them. What is for all-reduces is no algorithm of these.
  void behind(Collective collective, std::size_t block_elements, std::size_t element_bytes) {
    add({{collective, way_.ranks, 0, false}, block_elements, element_bytes}, {}, 1);
  }

  void add(const TrainingCall& call, const std::string& algorithm, double ready) {
    const CallTime& time = times_.of(call, algorithm);
    calls_.push_back({ready * step_.backward, time.seconds});
    waiting_ += time.waiting;
    if (call.bytes() < least_certain_bytes) ++small_;
    auto& specs = step_.specs;
    if (std::find(specs.begin(), specs.end(), time.spec) == specs.end()) specs.push_back(time.spec);
  }

  CallTimes& times_;
  const PredictedTraining& training_;
  const TrainingWay& way_;
  std::size_t samples_of_rank_ = 0;
  // Of one pass:
  std::vector<TimedCall> calls_;
  double waiting_ = 0;
  std::size_t small_ = 0;
  PredictedStep step_;
};

}  // namespace

bool can_predict(StrategyKind kind) {
  return std::find(predictable.begin(), predictable.end(), kind) != predictable.end();
}

Overlap overlap_of(std::span<const TimedCall> calls, double computing) {
  Overlap overlap;
  double end = 0;
  for (const TimedCall& call : calls) {
    const double begin = std::max(end, call.ready);
    end = begin + call.seconds;
    // Call by call: rounding hides nothing of what begins when computing is over.
    overlap.hidden += std::clamp(computing - begin, 0.0, call.seconds);
    overlap.communication += call.seconds;
  }
  overlap.exposed = overlap.communication - overlap.hidden;
  return overlap;
}

PredictedRow predict(CallTimes& times, const PredictedTraining& training, const TrainingWay& way) {
  if (way.ranks > times.gpus())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} ranks on {} GPUs", way.ranks, times.gpus()));
  if (!can_predict(way.kind))
    throw Error(ErrorCode::unsupported, fmt::format("{} cannot be predicted", to_string(way.kind)));
  if (way.kind == StrategyKind::single && way.ranks != 1)
    throw Error(ErrorCode::invalid_argument, "single is for one rank");
  Step step(times, training, way);
  if (way.ranks > 1) {
    if (way.kind == StrategyKind::data_parallel) step.data_parallel();
    if (way.kind == StrategyKind::from_scratch) step.from_scratch();
    if (way.kind == StrategyKind::distributed) step.distributed();
    if (way.kind == StrategyKind::sharded) step.sharded();
  }
  PredictedRow row{way, step.result(), 1, 1};
  row.speedup = row.step.batches * training.speed.seconds / row.step.seconds();
  row.efficiency = row.speedup / way.ranks;
  return row;
}

}  // namespace ringside::trainer
