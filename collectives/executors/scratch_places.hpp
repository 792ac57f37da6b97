// SPDX-License-Identifier: MIT
/// Where scratch slots lie if those at the host have a memory of their own.
#pragma once

#include <cstddef>
#include <vector>

#include "ringside/collectives/binding.hpp"
#include "ringside/collectives/plan.hpp"

namespace ringside {

/// Of every rank, the slots of the device lie one after another, those at the host likewise; the
/// binding lays out both together.
class ScratchPlaces {
 public:
  ScratchPlaces(const Plan& plan, const Binding& binding);

  /// Of an offset in the binding's scratch, in elements.
  [[nodiscard]] std::size_t moved(const Location& location, std::size_t offset) const {
    return offset - shifts_[static_cast<std::size_t>(location.rank)]
                           [static_cast<std::size_t>(location.slot)];
  }
  /// Elements, by rank.
  [[nodiscard]] const std::vector<std::size_t>& device() const { return device_; }
  [[nodiscard]] const std::vector<std::size_t>& host() const { return host_; }

 private:
  std::vector<std::vector<std::size_t>> shifts_;  // [rank][slot]
  std::vector<std::size_t> device_, host_;
};

/// Whether a location is in scratch at the host.
[[nodiscard]] inline bool is_at_host(const Plan& plan, const Location& location) {
  return location.buffer == Buffer::scratch &&
         plan.scratch(location.rank)[static_cast<std::size_t>(location.slot)].place ==
             ScratchSlot::Place::host;
}

}  // namespace ringside
