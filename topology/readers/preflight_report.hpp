// SPDX-License-Identifier: MIT
/// What `ringside bench --preflight --format json` prints: what the GPUs say of themselves, what
/// was measured between them, and the paths that are broken.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/measurements.hpp"
#include "ringside/topology/readers/pcie_status.hpp"
#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct PreflightReport {
  bool is_virtual = false;  ///< of a test double: nothing was measured
  bool okay = false;        ///< no finding
  std::string host_name, start_time;

  struct Device {
    MeasuredDevice device;
    PcieStatus link;  ///< as sysfs told
    std::optional<int> numa;
  };
  std::vector<Device> devices;

  struct Peer {
    int device = 0, peer = 0;
    bool can_access = false;
  };
  std::vector<Peer> peers;

  Measurements measured;  ///< by the numbers of `devices`

  /// Copies of several pairs of GPUs at once.
  struct AtOnce {
    std::string traffic;  ///< "pairs", "ring", "all_to_all"
    std::optional<bool> peer_access;
    struct Flow {
      int from = 0, to = 0;
      double gb_per_s = 0;
    };
    std::vector<Flow> flows;
  };
  std::vector<AtOnce> at_once;
  int checks = 0;  ///< flows whose data were compared
};

struct Reading;

/// Nothing when no object of the text has "ringside_preflight". Throws Error(bad_input) for one
/// that is of another version or lacks what such a report has.
[[nodiscard]] std::vector<Reading> read_preflight_report(const Text& text);

}  // namespace ringside
