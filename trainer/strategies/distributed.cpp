// SPDX-License-Identifier: MIT
/// Data parallelism as it is done today (Li and others: PyTorch Distributed, VLDB 2020). Gradients
/// lie in buckets, in the order in which a backward pass makes them. A hook on each parameter
/// counts down its bucket; a full bucket's all-reduce begins at once, on the communication thread,
/// while the backward pass goes on.
///
///     rank 0   forward  backward fc | conv2 | conv1   wait  update
///                               [bucket 0  ][bucket 1][2]
#include "ringside/trainer/strategies/departures.hpp"
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
                         settings.buckets),
            [this](const Bucket& bucket) { return send(bucket); },
            [this](const Bucket& bucket) { wire_.unpack(bucket.extent); }) {
    staging_ = wire_.bytes();
  }

  Loss accumulate(const BatchView& own, std::size_t /*samples*/, bool last) override {
    if (!last) return learn(own, {});
    buckets_.begin();
    const Loss loss = overlap_
                          ? learn(own, [this](std::size_t tensor) { buckets_.note_ready(tensor); })
                          : learn(own, {});
    timed(times_, Part::exposed, [&] { buckets_.finish(times_); });
    return loss;
  }

 private:
  Handle send(const Bucket& bucket) {
    const Memory own = wire_.pack(bucket.extent);
    return comm_.async().all_reduce(own.data, own.data, own.elements, own.type, ReduceOp::sum,
                                    options_);
  }

  Wire wire_;
  CallOptions options_;
  bool overlap_;
  Departures buckets_;
};

}  // namespace

std::unique_ptr<Strategy> make_distributed(const StrategySettings& settings, Replica& replica,
                                           Communicator& comm, StepTimes& times) {
  return std::make_unique<Distributed>(settings, replica, comm, times);
}

}  // namespace ringside::trainer
