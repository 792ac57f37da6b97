// SPDX-License-Identifier: MIT
/// Orders of the ranks for algorithms that go round a ring or along a chain: which are worth a
/// plan.
#pragma once

#include <span>
#include <vector>

#include "ringside/topology/model/machine.hpp"

namespace ringside {

using Order = std::vector<int>;

/// What can be said of an order from the ways between neighbours alone.
struct OrderCost {
  double load = 0;   ///< seconds per byte of the busiest resource, a byte going each step
  double delay = 0;  ///< seconds of latency, all steps one after another
  double time = 0;   ///< seconds per byte, all steps one after another
};

/// Works out costs from ways that it has looked up once.
class OrderCosts {
 public:
  /// `gpus`: of each rank.
  OrderCosts(const Machine& machine, std::span<const int> gpus);

  /// Of rings that turn side by side.
  [[nodiscard]] OrderCost of_rings(std::span<const Order> rings) const;
  /// Of a chain, up and down.
  [[nodiscard]] OrderCost of_chain(const Order& chain) const;

 private:
  struct Step {
    const Way* way = nullptr;
    double seconds_per_byte = 0;  // alone
  };
  class Sum;
  [[nodiscard]] const Step& step(int from, int to) const {
    return steps_[static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to)];
  }

  std::size_t ranks_;
  std::vector<double> seconds_per_byte_;  // of each resource
  std::vector<Step> steps_;               // [from x ranks + to]: `to` reads from `from`
};

/// The `most` with the least load and the `most` with the least delay (then time), in their order
/// in the list.
[[nodiscard]] std::vector<std::size_t> best_orders(std::span<const OrderCost> costs,
                                                   std::size_t most);

}  // namespace ringside
