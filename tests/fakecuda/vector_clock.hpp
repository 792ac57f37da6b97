// SPDX-License-Identifier: MIT
/// Vector clocks over lanes: what is known to have happened before.
/// (C. Fidge: Timestamps in message-passing systems that preserve the partial ordering, 1988.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringside::tests::fakecuda {

class VectorClock {
 public:
  /// The last operation of a lane that is known to be over.
  [[nodiscard]] std::uint32_t operator[](std::size_t lane) const {
    return lane < times_.size() ? times_[lane] : 0;
  }
  void set(std::size_t lane, std::uint32_t time) {
    if (times_.size() <= lane) times_.resize(lane + 1);
    times_[lane] = time;
  }
  /// Whether this clock learned something.
  bool join(const VectorClock& other) {
    if (times_.size() < other.times_.size()) times_.resize(other.times_.size());
    bool learned = false;
    for (std::size_t i = 0; i < other.times_.size(); ++i) {
      learned |= times_[i] < other.times_[i];
      times_[i] = std::max(times_[i], other.times_[i]);
    }
    return learned;
  }
  void clear() { times_.clear(); }

 private:
  std::vector<std::uint32_t> times_;
};

}  // namespace ringside::tests::fakecuda
