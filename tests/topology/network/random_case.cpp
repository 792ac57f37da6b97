// SPDX-License-Identifier: MIT
/// Random cases, and the slow and plain way to work them out.
#include "random_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace ringside::tests {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

std::size_t at(int index) { return static_cast<std::size_t>(index); }

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  int between(int low, int high) { return low + static_cast<int>(engine_() % at(high - low + 1)); }
  bool one_in(int n) { return between(1, n) == 1; }
  double real(double low, double high) {
    return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1p-53);
  }

 private:
  std::mt19937_64 engine_;
};

Resource random_resource(Dice& dice, const CaseLimits& limits) {
  Resource resource;
  // Often the same figures, as in real machines: ties must come out right.
  resource.capacity = dice.one_in(2) ? 1e9 * dice.between(1, 4) : dice.real(1e9, 1e10);
  if (limits.near_ties) resource.capacity = 1e9 * (1 + 2.5e-12 * dice.between(-2, 2));
  if (limits.curves && dice.one_in(3)) {
    double part = 1;
    for (int i = dice.between(1, 6); i > 0; --i)
      resource.efficiency.push_back(part *= dice.one_in(2) ? 1 : dice.real(0.5, 1));
  }
  return resource;
}

std::vector<Use> random_uses(Dice& dice, const CaseLimits& limits, int resources) {
  std::vector<Use> uses;
  for (int i = dice.between(1, std::min(4, resources)); i > 0; --i) {
    const ResourceId resource = dice.between(0, resources - 1);
    if (std::ranges::any_of(uses, [&](const Use& use) { return use.resource == resource; }))
      continue;
    double weight = dice.one_in(4) ? 2 : 1;
    if (!limits.whole_weights && dice.one_in(4)) weight = dice.real(0.1, 3);
    uses.push_back({resource, weight});
  }
  return uses;
}

}  // namespace

Case random_case(std::uint64_t seed, const CaseLimits& limits) {
  Dice dice(seed);
  Case made;
  const int resources = dice.between(1, limits.resources);
  for (int i = 0; i < resources; ++i) made.resources.push_back(random_resource(dice, limits));
  const int flows = dice.between(1, limits.flows);
  const int waiting = dice.between(1, 5);  // the smaller, the more wait
  for (int i = 0; i < flows; ++i) {
    CaseFlow flow;
    flow.uses = i > 0 && dice.one_in(3) ? made.flows[at(dice.between(0, i - 1))].uses
                                        : random_uses(dice, limits, resources);
    flow.bytes = dice.one_in(2) ? 1e9 * dice.between(1, 3) : dice.real(1e7, 1e10);
    if (dice.one_in(3)) flow.delay = dice.one_in(2) ? 0.5 : dice.real(0, 2);
    if (i > 0 && !dice.one_in(waiting))
      for (int n = dice.between(1, 3); n > 0; --n) flow.after.push_back(dice.between(0, i - 1));
    std::ranges::sort(flow.after);
    flow.after.erase(std::unique(flow.after.begin(), flow.after.end()), flow.after.end());
    made.flows.push_back(flow);
  }
  return made;
}

std::vector<double> times_of_engine(const Case& wanted) {
  FlowEngine engine(wanted.resources);
  std::vector<PathId> paths;
  std::vector<int> waits;
  std::vector<std::vector<int>> next(wanted.flows.size());
  for (const CaseFlow& flow : wanted.flows) {
    for (const int before : flow.after) next[at(before)].push_back(static_cast<int>(paths.size()));
    waits.push_back(static_cast<int>(flow.after.size()));
    paths.push_back(engine.add_path(flow.uses));
  }
  const auto start = [&](int flow) {
    engine.start(paths[at(flow)], wanted.flows[at(flow)].bytes, wanted.flows[at(flow)].delay, flow);
  };
  for (int i = 0; i < static_cast<int>(paths.size()); ++i)
    if (waits[at(i)] == 0) start(i);

  std::vector<double> times(paths.size(), -1);
  std::vector<FlowEngine::Token> ended;
  while (engine.advance(ended))
    for (const FlowEngine::Token token : ended) {
      times[static_cast<std::size_t>(token)] = engine.now();
      for (const int flow : next[static_cast<std::size_t>(token)])
        if (--waits[at(flow)] == 0) start(flow);
    }
  return times;
}

std::vector<double> rates_by_definition(const std::vector<Resource>& resources,
                                        const std::vector<std::vector<Use>>& flows) {
  std::vector<double> left(resources.size());
  for (std::size_t r = 0; r < resources.size(); ++r) {
    std::size_t count = 0;
    for (const std::vector<Use>& uses : flows)
      for (const Use& use : uses) count += at(use.resource) == r ? 1 : 0;
    const std::vector<double>& curve = resources[r].efficiency;
    const bool curved = count > 0 && !curve.empty();
    left[r] = resources[r].capacity * (curved ? curve[std::min(count, curve.size()) - 1] : 1.0);
  }

  std::vector<double> rates(flows.size(), 0);
  std::vector<bool> rises(flows.size(), true);
  for (;;) {
    std::vector<double> taken(resources.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (rises[f])
        for (const Use& use : flows[f]) taken[at(use.resource)] += use.weight;
    double rise = infinite;
    for (std::size_t r = 0; r < resources.size(); ++r)
      if (taken[r] > 0) rise = std::min(rise, left[r] / taken[r]);
    if (rise == infinite) break;

    for (std::size_t f = 0; f < flows.size(); ++f)
      if (rises[f]) rates[f] += rise;
    for (std::size_t r = 0; r < resources.size(); ++r) left[r] -= rise * taken[r];
    for (std::size_t f = 0; f < flows.size(); ++f)
      for (const Use& use : flows[f])
        if (left[at(use.resource)] <= resources[at(use.resource)].capacity * 1e-12)
          rises[f] = false;
  }
  for (std::size_t f = 0; f < flows.size(); ++f)
    if (rises[f]) rates[f] = infinite;
  return rates;
}

std::vector<double> times_by_definition(const Case& wanted) {
  const std::size_t count = wanted.flows.size();
  std::vector<double> times(count, -1), begin(count, -1), left(count);
  double now = 0;
  for (;;) {
    for (std::size_t f = 0; f < count; ++f) {
      if (begin[f] >= 0) continue;
      const CaseFlow& flow = wanted.flows[f];
      if (std::ranges::all_of(flow.after, [&](int before) { return times[at(before)] >= 0; })) {
        begin[f] = now + flow.delay;
        left[f] = flow.bytes;
      }
    }
    std::vector<std::size_t> going;
    std::vector<std::vector<Use>> uses;
    double next = infinite;
    for (std::size_t f = 0; f < count; ++f) {
      if (begin[f] < 0 || times[f] >= 0) continue;
      if (begin[f] > now) {
        next = std::min(next, begin[f]);
        continue;
      }
      going.push_back(f);
      uses.push_back(wanted.flows[f].uses);
    }
    const std::vector<double> rates = rates_by_definition(wanted.resources, uses);
    for (std::size_t i = 0; i < going.size(); ++i)
      next = std::min(next, now + left[going[i]] / rates[i]);
    if (next == infinite) return times;

    for (std::size_t i = 0; i < going.size(); ++i) {
      left[going[i]] -= rates[i] * (next - now);
      if (left[going[i]] <= wanted.flows[going[i]].bytes * 1e-12) times[going[i]] = next;
    }
    now = next;
  }
}

}  // namespace ringside::tests
