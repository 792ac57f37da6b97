// SPDX-License-Identifier: MIT
/// Data parallelism as it is done today (Li and others: PyTorch Distributed, VLDB 2020). Gradients
/// lie in buckets, in the order in which a backward pass makes them. A hook on each parameter
/// counts down its bucket; a full bucket's all-reduce begins at once, on the communication thread,
/// while the backward pass goes on.
///
///     rank 0   forward  backward fc | conv2 | conv1   wait  update
///                               [bucket 0  ][bucket 1][2]
///
/// Buckets leave in one order on all ranks, whatever order the hooks come in: calls must agree.
#include <algorithm>
#include <vector>

#include "ringside/trainer/strategies/kinds.hpp"

namespace ringside::trainer {
namespace {

class Distributed final : public Strategy {
 public:
  Distributed(const StrategySettings& settings, Replica& replica, Communicator& comm,
              StepTimes& times)
      : Strategy(replica, comm, times),
        wire_(replica, settings.narrow_wire),
        options_{.algorithm = settings.algorithm},
        overlap_(settings.overlap),
        buckets_(
            make_buckets(replica.tensors().parameters,
                         settings.narrow_wire ? ElementType::bfloat16 : replica.gradients().type,
                         settings.buckets)),
        bucket_of_(replica.tensors().parameters.size()),
        missing_(buckets_.size()) {
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
      for (std::size_t tensor = buckets_[bucket].first; tensor <= buckets_[bucket].last; ++tensor)
        bucket_of_[tensor] = bucket;
  }

  Loss accumulate(const BatchView& own, std::size_t /*samples*/, bool last) override {
    if (!last) return learn(own, {});
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
      missing_[bucket] = buckets_[bucket].tensors();
    const Loss loss =
        overlap_ ? learn(own, [this](std::size_t tensor) { note_ready(tensor); }) : learn(own, {});
    timed(times_, Part::exposed, [&] { finish(); });
    return loss;
  }

 private:
  void note_ready(std::size_t tensor) {
    --missing_[bucket_of_[tensor]];
    while (calls_.size() < buckets_.size() && missing_[calls_.size()] == 0) start_next();
  }

  void start_next() {
    const Memory bucket = wire_.pack(buckets_[calls_.size()].extent);
    calls_.push_back(comm_.async().all_reduce(bucket.data, bucket.data, bucket.elements,
                                              bucket.type, ReduceOp::sum, options_));
  }

  /// Sums what is left and waits for all.
  void finish() {
    const Stopwatch waiting;
    while (calls_.size() < buckets_.size()) start_next();
    Seconds running{0};
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      calls_[bucket].wait();
      running += calls_[bucket].running_time();
      wire_.unpack(buckets_[bucket].extent);
    }
    calls_.clear();
    times_.add(Part::hidden, std::max(running - waiting.elapsed(), Seconds{0}));
  }

  Wire wire_;
  CallOptions options_;
  bool overlap_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;  ///< of each tensor
  std::vector<std::size_t> missing_;    ///< of each bucket: tensors that are not ready
  std::vector<Handle> calls_;           ///< of the buckets that have left, in their order
};

}  // namespace

std::unique_ptr<Strategy> make_distributed(const StrategySettings& settings, Replica& replica,
                                           Communicator& comm, StepTimes& times) {
  return std::make_unique<Distributed>(settings, replica, comm, times);
}

}  // namespace ringside::trainer
