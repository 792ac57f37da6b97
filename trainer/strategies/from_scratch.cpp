// SPDX-License-Identifier: MIT
/// The textbook's data parallelism (d2l 12.5): every rank computes the gradients of its share, then
/// they are summed over the ranks, parameter by parameter, and every rank makes the same update.
///
///     rank 0   forward  backward  [all_reduce W1][all_reduce b1] ... update
///     rank 1   forward  backward  [all_reduce W1][all_reduce b1] ... update
///
/// A call for every tensor, and nothing is computed meanwhile.
#include "ringside/trainer/strategies/kinds.hpp"

namespace ringside::trainer {
namespace {

class FromScratch final : public Strategy {
 public:
  FromScratch(const StrategySettings& settings, Replica& replica, Communicator& comm,
              StepTimes& times)
      : Strategy(replica, comm, times),
        wire_(replica, settings.narrow_wire),
        options_{.algorithm = settings.algorithm} {
    staging_ = wire_.bytes();
  }

  Loss accumulate(const BatchView& own, std::size_t /*samples*/, bool last) override {
    const Loss loss = learn(own, {});
    if (last) timed(times_, Part::exposed, [&] { sum_gradients(); });
    return loss;
  }

 private:
  void sum_gradients() {
    const TensorLayout& layout = replica_.tensors().parameters;
    for (std::size_t tensor = 0; tensor < layout.size(); ++tensor) {
      const Memory own = wire_.pack(layout.extent(tensor));
      comm_.all_reduce(own.data, own.data, own.elements, own.type, ReduceOp::sum, options_);
      wire_.unpack(layout.extent(tensor));
    }
  }

  Wire wire_;
  CallOptions options_;
};

}  // namespace

std::unique_ptr<Strategy> make_from_scratch(const StrategySettings& settings, Replica& replica,
                                            Communicator& comm, StepTimes& times) {
  return std::make_unique<FromScratch>(settings, replica, comm, times);
}

}  // namespace ringside::trainer
