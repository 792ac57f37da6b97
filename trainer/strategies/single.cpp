// SPDX-License-Identifier: MIT
/// One rank with the whole batch: what all others are compared with.
#include <fmt/format.h>

#include "ringside/base/error.hpp"
#include "ringside/trainer/strategies/kinds.hpp"

namespace ringside::trainer {
namespace {

class Single final : public Strategy {
 public:
  using Strategy::Strategy;
  Loss accumulate(const BatchView& own, std::size_t /*samples*/, bool /*last*/) override {
    return learn(own, {});
  }
};

}  // namespace

std::unique_ptr<Strategy> make_single(Replica& replica, Communicator& comm, StepTimes& times) {
  if (comm.size() != 1)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the strategy single is for one rank, not {}", comm.size()));
  return std::make_unique<Single>(replica, comm, times);
}

}  // namespace ringside::trainer
