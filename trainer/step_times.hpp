// SPDX-License-Identifier: MIT
/// Where a rank's time goes.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "ringside/base/clock.hpp"

namespace ringside::trainer {

enum class Part : std::size_t {
  data,      ///< waiting for a batch
  forward,   ///< outputs and loss
  backward,  ///< gradients
  exposed,   ///< in a collective, or waiting for one: nothing else is done meanwhile
  hidden,    ///< a collective at work beside the backward pass: costs no time of its own
  update,    ///< parameters
};
inline constexpr auto part_names =
    std::to_array<std::string_view>({"data", "forward", "backward", "exposed", "hidden", "update"});

/// Seconds by part.
class StepTimes {
 public:
  [[nodiscard]] double operator[](Part part) const {
    return seconds_[static_cast<std::size_t>(part)];
  }
  void add(Part part, Seconds time) { seconds_[static_cast<std::size_t>(part)] += time.count(); }
  [[nodiscard]] const std::array<double, part_names.size()>& seconds() const { return seconds_; }
  [[nodiscard]] std::array<double, part_names.size()>& seconds() { return seconds_; }

 private:
  std::array<double, part_names.size()> seconds_{};
};

/// Adds the time that `body` takes to a part, and returns what it returns.
template <class Body>
decltype(auto) timed(StepTimes& times, Part part, Body&& body) {
  struct Scope {
    StepTimes& times;
    Part part;
    Stopwatch watch;
    ~Scope() { times.add(part, watch.elapsed()); }
  } scope{times, part, {}};
  return body();
}

}  // namespace ringside::trainer
