// SPDX-License-Identifier: MIT
/// The GPUs of a world's ranks, and what they can do with each other's memory.
#pragma once

#include <memory>
#include <vector>

#include "ringside/collectives/lower.hpp"
#include "ringside/collectives/selector/planned_machine.hpp"

namespace ringside::cuda {

/// Access between two devices by the option `cuda_p2p`, and what was found.
class Devices {
 public:
  /// By rank: its device. Enables peer access between all pairs that the driver says can have it,
  /// then writes and reads a pattern across each: a machine may say yes and lose the data (virtual
  /// machines, an IOMMU). What a kernel cannot do but a copy can is `copy_only`; the rest goes
  /// through pinned host memory. Throws Error(unsupported) without a usable GPU,
  /// Error(invalid_argument) for a device that does not exist, Error(timeout) for access that
  /// hangs, Error(device); what reading
  /// the machine of the option `topology` throws.
  explicit Devices(std::vector<int> device_of_rank);

  [[nodiscard]] const std::vector<int>& of_ranks() const { return device_of_rank_; }
  [[nodiscard]] const AccessMatrix& access() const { return access_; }
  /// Of some of the ranks, in this order.
  [[nodiscard]] AccessMatrix access_among(const std::vector<int>& ranks) const;
  [[nodiscard]] std::vector<int> devices_of(const std::vector<int>& ranks) const;
  /// What the option `topology` named when this was made: the same for all ranks and parts.
  [[nodiscard]] const std::shared_ptr<PlannedMachine>& planned() const { return planned_; }

 private:
  std::shared_ptr<PlannedMachine> planned_;
  std::vector<int> device_of_rank_;
  AccessMatrix access_;  // by rank
};

/// What device `from` can do with the memory of device `to`, found out by doing it: `from` stores a
/// pattern to memory of `to` and reads it back, by a kernel and by a copy. Enables peer access.
/// Throws Error(device) if neither works, Error(timeout) if one hangs: then what hangs, and the
/// memory that it uses, is left behind.
[[nodiscard]] Access probed_access(int from, int to);

}  // namespace ringside::cuda
