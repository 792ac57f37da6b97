// SPDX-License-Identifier: MIT
/// Buckets of gradients that leave while a backward pass goes on.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "ringside/collectives/handle.hpp"
#include "ringside/trainer/buckets.hpp"
#include "ringside/trainer/step_times.hpp"

namespace ringside::trainer {

/// Sends each bucket when its tensors are ready, in one order on all ranks, whatever order they are
/// ready in: calls must agree.
class Departures {
 public:
  /// `send` begins a bucket's call; `arrived` is told of each when its call is over.
  using Send = std::function<Handle(const Bucket&)>;
  using Arrived = std::function<void(const Bucket&)>;
  Departures(std::vector<Bucket> buckets, Send send, Arrived arrived);

  /// A backward pass begins, after which everything leaves.
  void begin();
  void note_ready(std::size_t tensor);
  /// Sends what is left and waits for all. Adds the time that was hidden to `times`.
  void finish(StepTimes& times);

 private:
  void send_next();

  std::vector<Bucket> buckets_;
  Send send_;
  Arrived arrived_;
  std::vector<std::size_t> bucket_of_;  ///< of each tensor
  std::vector<std::size_t> missing_;    ///< of each bucket: tensors that are not ready
  std::vector<Handle> calls_;           ///< of the buckets that have left, in their order
};

}  // namespace ringside::trainer
