// SPDX-License-Identifier: MIT
/// Ways through a topology: which directed links data take from one device to another, how near
/// the two are, and where two ways meet.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ringside/topology/graph.hpp"

namespace ringside {

/// Which links a way may use: all, or (as `topo -mp` looks at it) no NVLink and xGMI.
enum class Medium { any, pcie };

/// Directed links from the first device to the last; empty from a device to itself.
using Route = std::vector<LinkId>;

/// The way that data take: NVLink or xGMI where the two are joined by it, directly or over a
/// switch, else the fewest links; among equals the links added first. Never through a third GPU;
/// through NICs only between boxes. Nothing where there is no way.
[[nodiscard]] std::optional<Route> route(const Topology& topology, NodeId from, NodeId to,
                                         Medium medium = Medium::any);

/// The class of a pair, and how sure it is.
struct PairClass {
  LinkClass value = LinkClass::unreachable;
  std::optional<int> count;  ///< NVLink, xGMI: parallel links between the two
  /// Where the inputs leave it open, the range that they leave; else both equal `value`.
  LinkClass at_least = LinkClass::unreachable, at_most = LinkClass::unreachable;

  [[nodiscard]] bool decided() const { return at_least == at_most; }
  bool operator==(const PairClass&) const = default;
};

/// As `nvidia-smi topo -m` classifies: by what the route passes.
[[nodiscard]] PairClass link_class(const Topology& topology, NodeId from, NodeId to,
                                   Medium medium = Medium::any);

/// "NV12", "PHB", "X"; a pair that is not decided by its value.
[[nodiscard]] std::string to_string(const PairClass& pair);

/// A directed link and the ordered pairs of devices whose routes use it.
struct LinkUse {
  LinkId link = 0;
  std::vector<std::pair<NodeId, NodeId>> pairs;
};

/// For each link that at least two of the ordered pairs of these devices use, who uses it; most
/// used first. Links of the devices themselves, which all their pairs use, are left out.
[[nodiscard]] std::vector<LinkUse> contended_links(const Topology& topology,
                                                   std::span<const NodeId> devices);

}  // namespace ringside
