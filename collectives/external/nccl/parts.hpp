// SPDX-License-Identifier: MIT
/// What the ranks of an NCCL communicator share beyond what they meet in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "ringside/collectives/external/nccl/matching.hpp"

namespace ringside::nccl {

/// The messages of a communicator, and the same of the communicators that it was split into.
/// Thread-safe.
class Parts {
 public:
  explicit Parts(int ranks) : matching_(ranks) {}

  [[nodiscard]] Matching& matching() { return matching_; }

  /// What the `ranks` ranks of a color share; the first of them to ask makes it. `split`: a number
  /// that all ranks give, and for no other split.
  [[nodiscard]] std::shared_ptr<Parts> part(std::uint64_t split, int color, int ranks) {
    const std::lock_guard lock(mutex_);
    const auto key = std::pair(split, color);
    Part& part = parts_[key];
    if (!part.shared) part.shared = std::make_shared<Parts>(ranks);
    auto shared = part.shared;
    if (++part.asked == ranks) parts_.erase(key);
    return shared;
  }

 private:
  struct Part {
    std::shared_ptr<Parts> shared;
    int asked = 0;
  };
  Matching matching_;
  std::mutex mutex_;
  std::map<std::pair<std::uint64_t, int>, Part> parts_;
};

}  // namespace ringside::nccl
