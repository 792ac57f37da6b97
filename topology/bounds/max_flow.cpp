// SPDX-License-Identifier: MIT
#include "ringside/topology/bounds/max_flow.hpp"

#include <algorithm>

namespace ringside {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

int FlowNetwork::add_arc(int from, int to, std::int64_t capacity) {
  const int half = static_cast<int>(halves_.size());
  halves_.push_back({to, capacity});
  halves_.push_back({from, 0});
  arcs_of_[at(from)].push_back(half);
  arcs_of_[at(to)].push_back(half + 1);
  return half / 2;
}

void FlowNetwork::set_capacity(int arc, std::int64_t capacity) {
  forget_flow();
  halves_[at(2 * arc)].left = capacity;
}

void FlowNetwork::push(int half, std::int64_t amount) {
  halves_[at(half)].left -= amount;
  halves_[at(half ^ 1)].left += amount;
}

void FlowNetwork::forget_flow() {
  for (const auto& [half, amount] : pushed_) push(half, -amount);
  pushed_.clear();
}

/// Breadth first from the sink against the arcs, until the source is found.
bool FlowNetwork::find_levels(int source, int sink) {
  for (const int vertex : reached_) level_[at(vertex)] = unreached;
  reached_.assign(1, sink);
  level_[at(sink)] = 0;
  next_[at(sink)] = 0;
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    const int vertex = reached_[i];
    for (const int half : arcs_of_[at(vertex)]) {
      const int before = halves_[at(half)].to;
      if (level_[at(before)] != unreached || halves_[at(half ^ 1)].left == 0) continue;
      level_[at(before)] = level_[at(vertex)] + 1;
      next_[at(before)] = 0;
      reached_.push_back(before);
      if (before == source) return true;
    }
  }
  return false;
}

std::int64_t FlowNetwork::augment(std::int64_t most) {
  for (const int half : path_) most = std::min(most, halves_[at(half)].left);
  for (const int half : path_) {
    push(half, most);
    pushed_.emplace_back(half, most);
  }
  return most;
}

/// Walks from the source down the levels; what leads nowhere is not tried again.
std::int64_t FlowNetwork::blocking_flow(int source, int sink, std::int64_t most) {
  std::int64_t total = 0;
  path_.clear();
  int vertex = source;
  while (total < most) {
    if (vertex == sink) {
      total += augment(most - total);
      // Back to where the first arc is full.
      const auto full = std::find_if(path_.begin(), path_.end(),
                                     [this](int half) { return halves_[at(half)].left == 0; });
      if (full == path_.end()) break;
      vertex = halves_[at(*full ^ 1)].to;
      path_.erase(full, path_.end());
      continue;
    }
    const auto& arcs = arcs_of_[at(vertex)];
    auto& next = next_[at(vertex)];
    while (next < arcs.size()) {
      const HalfArc& half = halves_[at(arcs[next])];
      if (half.left > 0 && level_[at(half.to)] != unreached &&
          level_[at(half.to)] == level_[at(vertex)] - 1)
        break;
      ++next;
    }
    if (next < arcs.size()) {
      path_.push_back(arcs[next]);
      vertex = halves_[at(arcs[next])].to;
    } else if (path_.empty()) {
      break;
    } else {
      vertex = halves_[at(path_.back() ^ 1)].to;
      path_.pop_back();
      ++next_[at(vertex)];
    }
  }
  return total;
}

std::int64_t FlowNetwork::flow(int source, int sink, std::int64_t enough) {
  forget_flow();
  std::int64_t total = 0;
  while (total < enough && find_levels(source, sink))
    total += blocking_flow(source, sink, enough - total);
  return total;
}

std::vector<bool> FlowNetwork::source_side() const {
  std::vector<bool> side(level_.size());
  for (std::size_t vertex = 0; vertex < side.size(); ++vertex)
    side[vertex] = level_[vertex] == unreached;
  return side;
}

}  // namespace ringside
