// SPDX-License-Identifier: MIT
/// From how near devices are, pair by pair, to who shares a switch, a host bridge, a NUMA node.
///
/// "At most this far apart" divides devices into groups, whatever the class; the groups of a nearer
/// class lie within those of a farther one. So the classes form a tree, and known pairs imply
/// others: who is PIX to X and PXB to Y puts PXB between X and Y.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/graph.hpp"

namespace ringside {

/// The classes that group devices, from near to far. Beyond NODE is SYS.
inline constexpr std::array grouping_classes = {LinkClass::pix, LinkClass::pxb, LinkClass::phb,
                                                LinkClass::node};

/// What is known of n devices.
struct PcieDistances {
  std::vector<std::string> names;
  /// n x n, symmetric; PIX to SYS, nothing where it is not known (because NVLink hides it).
  std::vector<std::optional<LinkClass>> known;
  /// Where the inputs say that the device is ("numa 0", "cpus 0-15"), or "". A hint: it decides
  /// only where no known pair does.
  std::vector<std::string> place;

  [[nodiscard]] const std::optional<LinkClass>& at(std::size_t i, std::size_t j) const {
    return known[i * names.size() + j];
  }
  [[nodiscard]] std::optional<LinkClass>& at(std::size_t i, std::size_t j) {
    return known[i * names.size() + j];
  }
};

struct PcieGroups {
  /// For each of `grouping_classes`, the group of each device, numbered from 0 in the order of
  /// their first devices. As far apart as the known pairs allow, except that devices at one place
  /// are in one NUMA node.
  std::array<std::vector<int>, grouping_classes.size()> group;

  /// Pairs that another division would serve as well.
  struct Open {
    std::size_t first = 0, second = 0;
    LinkClass at_least = LinkClass::pix, at_most = LinkClass::sys;
  };
  std::vector<Open> open;

  [[nodiscard]] const std::vector<int>& numa_nodes() const { return group[3]; }
  [[nodiscard]] const std::vector<int>& host_bridges() const { return group[2]; }
  [[nodiscard]] const std::vector<int>& switch_trees() const { return group[1]; }
  [[nodiscard]] const std::vector<int>& switches() const { return group[0]; }
};

/// Throws Error(bad_input) when no tree has these distances, naming the pairs that contradict.
[[nodiscard]] PcieGroups find_pcie_groups(const PcieDistances& distances);

}  // namespace ringside
