// SPDX-License-Identifier: MIT
/// What a rank's calls go through.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ringside/trainer/backend.hpp"
#include "ringside/trainer/throttled.hpp"

namespace ringside::trainer {

/// A communicator, with the GPUs and the slower wires in front of it that are asked for.
class Route {
 public:
  /// `devices`: the GPU of each rank, or none; `wire`: bytes per second, or 0. Must not outlive
  /// `comm`.
  Route(Communicator& comm, const std::vector<int>& devices, double wire) : end_(&comm) {
    // Each refers to the one before it.
    if (!devices.empty())
      end_ = &at_host_.emplace(staged(*end_, devices[static_cast<std::size_t>(comm.rank())]));
    if (wire > 0) end_ = &slow_.emplace(throttled(*end_, wire));
  }
  Route(const Route&) = delete;
  Route& operator=(const Route&) = delete;

  [[nodiscard]] Communicator& end() const { return *end_; }

 private:
  Communicator* end_;
  std::optional<Communicator> at_host_, slow_;
};

}  // namespace ringside::trainer
