// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/orders.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace ringside {

OrderCosts::OrderCosts(const Machine& machine, std::span<const int> gpus) : ranks_(gpus.size()) {
  for (const Resource& resource : machine.resources())
    seconds_per_byte_.push_back(1 / resource.capacity);
  for (const int from : gpus)
    for (const int to : gpus) {
      Step step{&machine.read({from, false}, to, Mover::kernel)};
      for (const Use& use : step.way->uses)
        step.seconds_per_byte =
            std::max(step.seconds_per_byte,
                     use.weight * seconds_per_byte_[static_cast<std::size_t>(use.resource)]);
      steps_.push_back(step);
    }
}

/// Adds steps up.
class OrderCosts::Sum {
 public:
  explicit Sum(const OrderCosts& costs)
      : costs_(costs), loads_(costs.seconds_per_byte_.size(), 0) {}

  void add(int from, int to) {
    const Step& step = costs_.step(from, to);
    for (const Use& use : step.way->uses) {
      double& load = loads_[static_cast<std::size_t>(use.resource)];
      load += use.weight * costs_.seconds_per_byte_[static_cast<std::size_t>(use.resource)];
      cost_.load = std::max(cost_.load, load);
    }
    cost_.delay += step.way->latency;
    cost_.time += step.seconds_per_byte;
  }
  [[nodiscard]] OrderCost cost() const { return cost_; }

 private:
  const OrderCosts& costs_;
  std::vector<double> loads_;
  OrderCost cost_;
};

OrderCost OrderCosts::of_rings(std::span<const Order> rings) const {
  Sum sum(*this);
  for (const Order& ring : rings)
    for (std::size_t i = 0; i < ring.size(); ++i) sum.add(ring[i], ring[(i + 1) % ring.size()]);
  return sum.cost();
}

OrderCost OrderCosts::of_chain(const Order& chain) const {
  Sum sum(*this);
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    sum.add(chain[i], chain[i + 1]);
    sum.add(chain[i + 1], chain[i]);
  }
  return sum.cost();
}

std::vector<std::size_t> best_orders(std::span<const OrderCost> costs, std::size_t most) {
  std::vector<std::size_t> by_load(costs.size());
  std::iota(by_load.begin(), by_load.end(), 0);
  auto by_delay = by_load;
  const auto sort_by = [&](std::vector<std::size_t>& list, auto key) {
    std::stable_sort(list.begin(), list.end(),
                     [&](std::size_t a, std::size_t b) { return key(costs[a]) < key(costs[b]); });
    list.resize(std::min(list.size(), most));
  };
  sort_by(by_load, [](const OrderCost& c) { return std::tuple(c.load, c.delay, c.time); });
  sort_by(by_delay, [](const OrderCost& c) { return std::tuple(c.delay, c.time, c.load); });
  std::set<std::size_t> best(by_load.begin(), by_load.end());
  best.insert(by_delay.begin(), by_delay.end());
  return {best.begin(), best.end()};
}

}  // namespace ringside
