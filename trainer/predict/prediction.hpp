// SPDX-License-Identifier: MIT
/// How fast k devices learn, predicted: computing as told, communication by the twin, one beside
/// the other where a strategy lets it be.
///
///     device   forward | backward fc | conv2 | conv1   exposed | next step
///     links                           [bucket 0  ][bucket 1][2]
///
/// A bucket's call begins when its last gradient is ready and the call before it has ended. What is
/// not over when the backward pass is, is exposed. That computing and communication slow each other
/// down (memory, processors of the GPU) is not in it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ringside/trainer/predict/call_times.hpp"
#include "ringside/trainer/predict/device_speed.hpp"
#include "ringside/trainer/predict/profile.hpp"
#include "ringside/trainer/strategies/strategy.hpp"

namespace ringside::trainer {

/// What is trained, whatever the ranks.
struct PredictedTraining {
  ModelProfile profile;
  DeviceSpeed speed;                        ///< of one device for a pass over `samples`
  double samples = 0;                       ///< of a pass; 0: not told
  std::size_t passes = 1;                   ///< whose gradients are added up before they travel
  ElementType type = ElementType::float32;  ///< of the gradients
  bool narrow_wire = false;                 ///< they travel as bfloat16
  BucketSizes buckets;
  bool overlap = true;  ///< distributed, sharded
  int zero_stage = 2;   ///< sharded
  /// All devices share the samples of a pass (strong scaling); else each has as many.
  bool split = false;
};

struct TrainingWay {
  StrategyKind kind = StrategyKind::single;
  std::string algorithm;  ///< of the all_reduce; as CallTimes::of takes it
  int ranks = 1;
};

/// A call and the seconds since the last pass's beginning at which its data are there.
struct TimedCall {
  double ready = 0, seconds = 0;
};
/// Calls one after another beside computing that is over after so many seconds.
struct Overlap {
  double communication = 0;        ///< seconds of calls
  double hidden = 0, exposed = 0;  ///< these together are the communication
};
[[nodiscard]] Overlap overlap_of(std::span<const TimedCall> calls, double computing);

/// A step of a device. In seconds.
struct PredictedStep {
  double computing = 0;  ///< of all its passes
  double backward = 0;   ///< of the last of them
  Overlap calls;
  double waiting = 0;              ///< of the communication: latency and issuing
  double gradient_bytes = 0;       ///< of a rank, as they travel
  std::size_t count = 0;           ///< of calls
  std::size_t small = 0;           ///< of these, those whose times are known within a factor only
  std::vector<std::string> specs;  ///< that run, each once
  double batches = 1;              ///< that all devices learn from, of one device's each

  [[nodiscard]] double seconds() const { return computing + calls.exposed; }
};

struct PredictedRow {
  TrainingWay way;
  PredictedStep step;
  double speedup = 1;     ///< over one device, in samples per second
  double efficiency = 1;  ///< that over the ranks
};

/// Throws Error(invalid_argument) for more ranks than GPUs, Error(unsupported) for a strategy that
/// it does not know, and what CallTimes::of throws.
[[nodiscard]] PredictedRow predict(CallTimes& times, const PredictedTraining& training,
                                   const TrainingWay& way);

/// Whether `predict` knows it.
[[nodiscard]] bool can_predict(StrategyKind kind);

}  // namespace ringside::trainer
