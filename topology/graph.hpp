// SPDX-License-Identifier: MIT
/// What a machine is: devices and the links between them, with what is known of each and what is
/// not. A value: readers and presets make it, everything else looks at it or makes a changed copy.
///
/// The parts of a box form trees, one per NUMA node:
///
///     numa_node <- host_bridge <- pcie_switch <- ... <- gpu, nic
///
/// A host bridge is left out where the input does not tell them apart. Between the trees are socket
/// links; across them NVLink or xGMI, directly from GPU to GPU or over an NVSwitch; NICs lead to
/// network switches. A fact that no input states is an empty optional, never a default.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ringside {

enum class NodeKind {
  gpu,
  nic,
  pcie_switch,
  pcie_device,  ///< an end point of another or an unknown class
  host_bridge,  ///< a root complex: where a PCIe hierarchy meets the processor
  numa_node,    ///< processor cores with their memory
  nvswitch,
  network_switch,
};

enum class LinkKind {
  pcie,
  internal,  ///< between a NUMA node and its host bridge
  socket,    ///< between NUMA nodes: UPI, QPI, Infinity Fabric, X-Bus
  nvlink,
  xgmi,
  c2c,      ///< chip to chip, between a GPU and its processor
  network,  ///< a cable of a NIC, or between network switches
};

/// Whether an input states it, or it was added because what the inputs state needs it.
enum class Origin { read, inferred };

/// "gpu", "host_bridge"; "pcie", "nvlink"; "read", "inferred".
[[nodiscard]] std::string_view to_string(NodeKind kind);
[[nodiscard]] std::string_view to_string(LinkKind kind);
[[nodiscard]] std::string_view to_string(Origin origin);
[[nodiscard]] std::optional<NodeKind> node_kind_from(std::string_view name);
[[nodiscard]] std::optional<LinkKind> link_kind_from(std::string_view name);

/// Where a device sits on the PCI buses of its box.
struct PciAddress {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0, device = 0, function = 0;

  // clang-tidy 14 takes the zero of a three-way comparison for a pointer.
  auto operator<=>(const PciAddress&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// "0000:1b:00.0"; eight digits of domain (as nvidia-smi prints), none ("1b:00.0") and capitals are
/// understood. Empty for anything else.
[[nodiscard]] std::optional<PciAddress> parse_pci_address(std::string_view text);
/// With at least four digits of domain, in small letters.
[[nodiscard]] std::string to_string(const PciAddress& address);

using NodeId = int;  ///< index in Topology::nodes()
using LinkId = int;  ///< index in Topology::links()

struct Node {
  NodeKind kind = NodeKind::pcie_device;
  std::string name;           ///< unique in the topology: "GPU0", "mlx5_0", "numa0"
  int box = 0;                ///< machines of a cluster, from 0
  std::optional<int> number;  ///< a GPU's index, a NUMA node's id
  std::optional<PciAddress> address;
  std::optional<std::string> model;
  /// Other facts, under the name that the input gives them and as it prints them.
  std::map<std::string, std::string> details;
  Origin origin = Origin::read;

  bool operator==(const Node&) const = default;
};

/// One direction of a link. Both directions exist and are alike unless an input says otherwise.
struct Link {
  NodeId from = 0, to = 0;
  LinkKind kind = LinkKind::pcie;
  std::optional<int> generation;                   ///< PCIe or NVLink generation at which it runs
  std::optional<int> width;                        ///< PCIe lanes that it uses
  std::optional<int> most_generation, most_width;  ///< what both ends are capable of
  std::optional<int> count;                        ///< NVLink, xGMI: parallel links in this one
  std::optional<double> bandwidth;  ///< GB/s (decimal) of this direction, where an input states it
  Origin origin = Origin::read;

  bool operator==(const Link&) const = default;
};

/// How near two devices are, from near to far; also what a cell of `nvidia-smi topo -m` says.
enum class LinkClass {
  self,         ///< X
  nvlink,       ///< NV#
  xgmi,         ///< XGMI (AMD)
  pix,          ///< through one PCIe switch
  pxb,          ///< through several PCIe switches
  phb,          ///< through a host bridge
  node,         ///< through two host bridges of a NUMA node
  sys,          ///< through NUMA nodes
  network,      ///< NET: in different boxes
  unreachable,  ///< no way is known
};

/// "X", "NV", "XGMI", "PIX" ... "SYS", "NET", "?".
[[nodiscard]] std::string_view to_string(LinkClass value);

/// Two devices whose PCIe distance no input states or implies: the tree puts them somewhere in this
/// range, and another tree would do as well. first < second.
struct UndecidedPair {
  NodeId first = 0, second = 0;
  LinkClass at_least = LinkClass::pix, at_most = LinkClass::sys;

  bool operator==(const UndecidedPair&) const = default;
};

/// Whether the driver lets one GPU reach into the memory of another, as `topo -p2p` prints it.
struct PeerAccess {
  NodeId from = 0, to = 0;
  std::string capability;  ///< "r", "w", "n" (NVLink), "a" (atomics), "p"; "" where not told
  std::string status;      ///< "OK", "NS", "CNS", "GNS", "TNS", "DR", "U"

  bool operator==(const PeerAccess&) const = default;
};

class Topology {
 public:
  /// Throws Error(bad_input) when the name is taken or empty.
  NodeId add(Node node);

  /// Adds both directions and returns the id of the one from `link.from` to `link.to`; the other is
  /// `reverse()` of it. In a tree `from` is the child. Throws Error(bad_input) for an end that does
  /// not exist, a link to itself, or a second parent.
  LinkId connect(const Link& link);

  [[nodiscard]] static LinkId reverse(LinkId link) { return link ^ 1; }

  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }
  [[nodiscard]] const Node& node(NodeId id) const {
    return nodes_.at(static_cast<std::size_t>(id));
  }
  [[nodiscard]] Node& node(NodeId id) { return nodes_.at(static_cast<std::size_t>(id)); }
  [[nodiscard]] const Link& link(LinkId id) const {
    return links_.at(static_cast<std::size_t>(id));
  }
  [[nodiscard]] Link& link(LinkId id) { return links_.at(static_cast<std::size_t>(id)); }
  [[nodiscard]] std::span<const LinkId> links_from(NodeId id) const {
    return leaving_.at(static_cast<std::size_t>(id));
  }

  [[nodiscard]] std::optional<NodeId> find(std::string_view wanted) const;
  [[nodiscard]] std::optional<NodeId> find(const PciAddress& address, int box = 0) const;

  /// Throws Error(bad_input) when a tree is deeper than any machine; `connect` sees that only for
  /// links that are added from the root down.
  void check_depth() const;

  /// In the order of their numbers (those without one last), boxes one after another.
  [[nodiscard]] std::vector<NodeId> gpus() const { return of_kind(NodeKind::gpu); }
  /// In the order in which they were added.
  [[nodiscard]] std::vector<NodeId> nics() const { return of_kind(NodeKind::nic); }
  [[nodiscard]] std::vector<NodeId> of_kind(NodeKind kind) const;

  /// The link up the tree, towards the NUMA node.
  [[nodiscard]] std::optional<LinkId> link_up(NodeId id) const;
  [[nodiscard]] std::vector<NodeId> children(NodeId id) const;
  /// Where the node's tree ends: a NUMA node, or the last node that has no parent.
  [[nodiscard]] NodeId root(NodeId id) const;

  std::string name;  ///< of the machine, where known
  std::vector<UndecidedPair> undecided;
  std::vector<PeerAccess> peer_access;

  bool operator==(const Topology&) const = default;

 private:
  void check_above(NodeId id, NodeId child) const;

  std::vector<Node> nodes_;
  std::vector<Link> links_;  // 2k and 2k + 1 are the directions of one link
  std::vector<std::vector<LinkId>> leaving_;
  std::map<std::string, NodeId, std::less<>> by_name_;
};

/// Whether a link is part of a tree (PCIe, or inside the processor).
[[nodiscard]] bool is_tree_link(LinkKind kind);

}  // namespace ringside
