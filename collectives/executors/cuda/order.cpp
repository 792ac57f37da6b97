// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/order.hpp"

#include <algorithm>

namespace ringside::cuda {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

Clock& StreamOrder::clock_of(int stream) {
  if (index(stream) >= clocks_.size()) {
    clocks_.resize(index(stream) + 1);
    positions_.resize(index(stream) + 1, 0);
  }
  return clocks_[index(stream)];
}

Moment StreamOrder::append(int stream) {
  Clock& clock = clock_of(stream);
  if (clock.size() <= index(stream)) clock.resize(index(stream) + 1, 0);
  clock[index(stream)] = ++positions_[index(stream)];
  return {{stream, positions_[index(stream)]}, clock};
}

void StreamOrder::wait(int stream, const Moment& moment) {
  Clock& clock = clock_of(stream);
  if (clock.size() < moment.clock.size()) clock.resize(moment.clock.size(), 0);
  for (std::size_t i = 0; i < moment.clock.size(); ++i)
    clock[i] = std::max(clock[i], moment.clock[i]);
}

bool StreamOrder::is_behind(int stream, const Point& point) const {
  if (index(stream) >= clocks_.size()) return false;
  const Clock& clock = clocks_[index(stream)];
  return index(point.stream) < clock.size() && clock[index(point.stream)] >= point.position;
}

Moment StreamOrder::latest(int stream) const {
  if (index(stream) >= clocks_.size()) return {{stream, 0}, {}};
  return {{stream, positions_[index(stream)]}, clocks_[index(stream)]};
}

void StreamOrder::replace(int stream) { clock_of(stream).clear(); }

std::vector<const Moment*> needed_waits(const StreamOrder& order, int stream,
                                        const std::vector<const Moment*>& moments) {
  std::vector<const Moment*> open;
  for (const Moment* moment : moments)
    if (!order.is_behind(stream, moment->point)) open.push_back(moment);
  // What is left out must be implied by what is left in the end: a clock may know more than its
  // point, and then who implies a moment may itself be implied with less.
  std::vector<bool> kept(open.size(), true);
  const auto implied = [&](const Moment* moment) {
    for (std::size_t i = 0; i < open.size(); ++i)
      if (kept[i] && open[i]->is_behind(moment->point)) return true;
    return false;
  };
  for (std::size_t i = 0; i < open.size(); ++i) {
    kept[i] = false;
    for (std::size_t j = 0; j < open.size() && !kept[i]; ++j)
      if (!kept[j] && !implied(open[j])) kept[i] = true;
  }
  std::vector<const Moment*> needed;
  for (std::size_t i = 0; i < open.size(); ++i)
    if (kept[i]) needed.push_back(open[i]);
  return needed;
}

}  // namespace ringside::cuda
