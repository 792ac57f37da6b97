// SPDX-License-Identifier: MIT
#include "ringside/topology/build/from_matrix.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/build/pcie_groups.hpp"
#include "ringside/topology/readers/device_table.hpp"

namespace ringside {
namespace {

/// Of one GPU, in any generation so far: 4, 6, 12, 18, 18 (NVLink 1 to 5).
constexpr int most_nvlinks = 18;

bool is_pcie_class(LinkClass value) { return value >= LinkClass::pix && value <= LinkClass::sys; }

[[noreturn]] void fail_as_two_machines(std::string_view why) {
  throw Error(ErrorCode::bad_input, fmt::format("the matrices are of different machines: {}", why));
}

void merge_cells(LinkMatrix& merged, const LinkMatrix& other) {
  for (std::size_t i = 0; i < merged.names.size(); ++i)
    for (std::size_t j = 0; j < merged.names.size(); ++j) {
      auto& cell = merged.cell(i, j);
      const auto& more = other.cell(i, j);
      if (cell && more && (cell->value != more->value || cell->count != more->count))
        fail_as_two_machines(fmt::format("{} to {} is {} in one and {} in another", merged.names[i],
                                         merged.names[j], to_string(*cell), to_string(*more)));
      if (!cell) cell = more;
    }
}

void merge_column(AffinityColumn& merged, const AffinityColumn& other) {
  for (const auto& [name, cell] : other)
    if (const auto [at, added] = merged.emplace(name, cell); !added && !at->second)
      at->second = cell;
}

void merge_beside(LinkMatrix& merged, const LinkMatrix& other) {
  merge_column(merged.cpu_affinity, other.cpu_affinity);
  merge_column(merged.numa_affinity, other.numa_affinity);
  merge_column(merged.gpu_numa_id, other.gpu_numa_id);
  merged.nic_legend.insert(other.nic_legend.begin(), other.nic_legend.end());
  if (merged.columns.size() < other.columns.size()) merged.columns = other.columns;
}

/// The text of a cell that is there and says something.
std::optional<std::string> told(const AffinityColumn& column, const std::string& name) {
  const auto cell = column.find(name);
  if (cell == column.end() || !cell->second || cell->second->empty() || *cell->second == "N/A")
    return std::nullopt;
  return *cell->second;
}

std::optional<int> numa_id(const LinkMatrix& matrix, const std::string& name) {
  const auto text = told(matrix.numa_affinity, name);
  const auto id = text ? parse_int(*text, 0, 1'000'000) : std::nullopt;
  return id ? std::optional(static_cast<int>(*id)) : std::nullopt;
}

std::string place_of(const LinkMatrix& matrix, const std::string& name) {
  if (const auto id = numa_id(matrix, name)) return fmt::format("numa {}", *id);
  if (const auto cpus = told(matrix.cpu_affinity, name)) return "cpus " + *cpus;
  return "";
}

/// Builds the tree from the groups, from the NUMA nodes down.
class TreeBuilder {
 public:
  TreeBuilder(const MergedMatrix& matrix, std::vector<Finding>& findings)
      : matrix_(matrix.links), findings_(findings) {
    PcieDistances distances{.names = matrix_.names, .known = matrix.pcie, .place = {}};
    for (const auto& name : matrix_.names) distances.place.push_back(place_of(matrix_, name));
    groups_ = find_pcie_groups(distances);
  }

  Topology build() {
    add_numa_nodes();
    for (std::size_t i = 0; i < matrix_.names.size(); ++i) add_device(i);
    for (const auto& open : groups_.open)
      topology_.undecided.push_back({.first = device(open.first),
                                     .second = device(open.second),
                                     .at_least = open.at_least,
                                     .at_most = open.at_most});
    report_open_pairs();
    return std::move(topology_);
  }

 private:
  [[nodiscard]] NodeId device(std::size_t i) const { return *topology_.find(matrix_.names[i]); }

  /// The ids that the devices of a group state; more than one, or one that another group states
  /// too, is no name for it.
  void add_numa_nodes() {
    const auto& group = groups_.numa_nodes();
    const int count = group.empty() ? 0 : *std::ranges::max_element(group) + 1;
    std::vector<std::set<int>> ids(static_cast<std::size_t>(count));
    std::map<int, int> claims;
    for (std::size_t i = 0; i < group.size(); ++i)
      if (const auto id = numa_id(matrix_, matrix_.names[i]))
        if (ids[static_cast<std::size_t>(group[i])].insert(*id).second) ++claims[*id];
    for (const auto& [id, times] : claims)
      if (times > 1)
        findings_.push_back(
            {Severity::note, 0, fmt::format("devices that say NUMA node {} are SYS apart", id)});
    for (int each = 0; each < count; ++each) {
      const auto& stated = ids[static_cast<std::size_t>(each)];
      const bool known = stated.size() == 1 && claims[*stated.begin()] == 1;
      Node node{.kind = NodeKind::numa_node,
                .name = known ? fmt::format("numa{}", *stated.begin())
                              : fmt::format("numa-{}", static_cast<char>('a' + each % 26)) +
                                    (each < 26 ? "" : std::to_string(each / 26)),
                .number = {},
                .address = {},
                .model = {},
                .details = {},
                .origin = known ? Origin::read : Origin::inferred};
      if (known) node.number = *stated.begin();
      numa_nodes_.push_back(topology_.add(std::move(node)));
    }
    for (std::size_t i = 0; i < numa_nodes_.size(); ++i)
      for (std::size_t j = i + 1; j < numa_nodes_.size(); ++j)
        connect(numa_nodes_[i], numa_nodes_[j], LinkKind::socket);
  }

  void add_device(std::size_t i) {
    const std::string& name = matrix_.names[i];
    Node node{.kind = is_gpu_name(name) ? NodeKind::gpu : NodeKind::nic,
              .name = name,
              .number = {},
              .address = {},
              .model = {},
              .details = {}};
    if (is_gpu_name(name)) node.number = static_cast<int>(parse_int(name.substr(3)).value_or(0));
    note_affinity(node, "cpu_affinity", matrix_.cpu_affinity);
    note_affinity(node, "numa_affinity", matrix_.numa_affinity);
    note_affinity(node, "gpu_numa_id", matrix_.gpu_numa_id);
    if (const auto legend = matrix_.nic_legend.find(name); legend != matrix_.nic_legend.end())
      node.details["legend"] = legend->second;
    const NodeId parent = parent_of(i);
    connect(topology_.add(std::move(node)), parent, LinkKind::pcie);
  }

  static void note_affinity(Node& node, const char* key, const AffinityColumn& column) {
    if (const auto cell = column.find(node.name); cell != column.end() && cell->second)
      node.details[key] = *cell->second;
  }

  /// The switch, or the host bridge, that the device hangs on.
  NodeId parent_of(std::size_t i) {
    const NodeId host =
        made(host_bridges_, groups_.host_bridges()[i], NodeKind::host_bridge, "host",
             numa_nodes_[static_cast<std::size_t>(groups_.numa_nodes()[i])]);
    const auto& trees = groups_.switch_trees();
    const auto& switches = groups_.switches();
    const auto in_tree = std::ranges::count(trees, trees[i]);
    const auto at_switch = std::ranges::count(switches, switches[i]);
    if (in_tree == at_switch)  // nothing is PXB to it
      return at_switch == 1
                 ? host
                 : made(lower_switches_, switches[i], NodeKind::pcie_switch, "switch", host);
    const NodeId upper = made(upper_switches_, trees[i], NodeKind::pcie_switch, "switch", host);
    return made(lower_switches_, switches[i], NodeKind::pcie_switch, "switch", upper);
  }

  NodeId made(std::map<int, NodeId>& nodes, int group, NodeKind kind, const char* name,
              NodeId parent) {
    const auto [at, added] = nodes.emplace(group, -1);
    if (added) {
      Node node{.kind = kind,
                .name = fmt::format("{}{}", name, names_[name]++),
                .number = {},
                .address = {},
                .model = {},
                .details = {},
                .origin = Origin::inferred};
      at->second = topology_.add(std::move(node));
      connect(at->second, parent,
              kind == NodeKind::host_bridge ? LinkKind::internal : LinkKind::pcie);
    }
    return at->second;
  }

  void connect(NodeId from, NodeId to, LinkKind kind) {
    Link link;
    link.from = from;
    link.to = to;
    link.kind = kind;
    link.origin = Origin::inferred;
    topology_.connect(link);
  }

  void report_open_pairs() {
    const auto open = groups_.open.size();
    if (open == 0) return;
    const auto& first = groups_.open.front();
    findings_.push_back(
        {Severity::note, 0,
         fmt::format(
             "how near {} pair{} of devices {} over PCIe is not told (such as {} and {}: {} to "
             "{}); drawn as far apart as is consistent",
             open, open == 1 ? "" : "s", open == 1 ? "is" : "are", matrix_.names[first.first],
             matrix_.names[first.second], to_string(first.at_least), to_string(first.at_most))});
  }

  const LinkMatrix& matrix_;
  std::vector<Finding>& findings_;
  PcieGroups groups_;
  Topology topology_;
  std::vector<NodeId> numa_nodes_;
  std::map<int, NodeId> host_bridges_, upper_switches_, lower_switches_;
  std::map<std::string, int> names_;
};

/// The NVLinks of one GPU to each other.
std::map<std::size_t, int> nvlinks_of(const LinkMatrix& matrix, std::size_t gpu) {
  std::map<std::size_t, int> links;
  for (std::size_t j = 0; j < matrix.gpus; ++j)
    if (const auto& cell = matrix.cell(gpu, j); cell && cell->value == LinkClass::nvlink)
      links[j] = cell->count;
  return links;
}

/// GPUs that NVLinks join, directly or over others.
std::set<std::size_t> joined_with(const LinkMatrix& matrix, std::size_t gpu) {
  std::set<std::size_t> joined{gpu};
  std::vector<std::size_t> open{gpu};
  while (!open.empty()) {
    const std::size_t each = open.back();
    open.pop_back();
    for (const auto& [peer, count] : nvlinks_of(matrix, each))
      if (joined.insert(peer).second) open.push_back(peer);
  }
  return joined;
}

/// GPUs that hang on an NVSwitch, with the links of each: where one's links to its peers are more
/// than a GPU has. A pair then has as many as the one with fewer, and that is what the matrix must
/// say: some of a GPU's links may be down.
std::map<std::size_t, int> switched_gpus(const LinkMatrix& matrix) {
  std::map<std::size_t, int> switched;
  for (std::size_t i = 0; i < matrix.gpus; ++i) {
    int sum = 0;
    for (const auto& [peer, count] : nvlinks_of(matrix, i)) sum += count;
    if (sum <= most_nvlinks || switched.contains(i)) continue;
    for (const std::size_t gpu : joined_with(matrix, i)) {
      int& most = switched[gpu];
      for (const auto& [peer, count] : nvlinks_of(matrix, gpu)) most = std::max(most, count);
    }
  }
  for (const auto& [i, links] : switched)
    for (const auto& [j, others] : switched) {
      const auto& cell = matrix.cell(i, j);
      if (i >= j || !cell) continue;
      const int expected = std::min(links, others);
      if (cell->value == LinkClass::nvlink && cell->count == expected) continue;
      throw Error(
          ErrorCode::bad_input,
          fmt::format("no machine is wired so: {} and {} hang on one NVSwitch, as there are "
                      "more NVLinks than a GPU has ({}); but then {} to {} would be NV{}, "
                      "not {}",
                      matrix.names[i], matrix.names[j], most_nvlinks, matrix.names[i],
                      matrix.names[j], expected, to_string(*cell)));
    }
  return switched;
}

/// A cell of a NIC that names an NVLink is a damaged one.
void warn_of_fabric_beyond_gpus(const LinkMatrix& matrix, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < matrix.names.size(); ++i)
    for (std::size_t j = std::max(i + 1, matrix.gpus); j < matrix.names.size(); ++j)
      if (const auto& cell = matrix.cell(i, j);
          cell && (cell->value == LinkClass::nvlink || cell->value == LinkClass::xgmi))
        findings.push_back({Severity::warning, 0,
                            fmt::format("{} to {} is {}, which joins GPUs only: left out",
                                        matrix.names[i], matrix.names[j], to_string(*cell))});
}

void add_xgmi(const LinkMatrix& matrix, Topology& topology) {
  for (std::size_t i = 0; i < matrix.gpus; ++i)
    for (std::size_t j = i + 1; j < matrix.gpus; ++j) {
      const auto& cell = matrix.cell(i, j);
      if (!cell || cell->value != LinkClass::xgmi) continue;
      Link link;
      link.from = *topology.find(matrix.names[i]);
      link.to = *topology.find(matrix.names[j]);
      link.kind = LinkKind::xgmi;
      topology.connect(link);
    }
}

}  // namespace

MergedMatrix merge_matrices(const std::vector<const LinkMatrix*>& matrices) {
  std::optional<LinkMatrix> all, pcie;
  for (const LinkMatrix* each : matrices) {
    if (each->names != matrices.front()->names)
      fail_as_two_machines(fmt::format("one has {}, another {}",
                                       fmt::join(matrices.front()->names, " "),
                                       fmt::join(each->names, " ")));
    auto& merged = each->pcie_only ? pcie : all;
    if (!merged) {
      merged = *each;
      continue;
    }
    merge_cells(*merged, *each);
    merge_beside(*merged, *each);
  }
  MergedMatrix result{.links = all ? *all : *pcie, .pcie = {}};
  for (std::size_t k = 0; k < result.links.cells.size(); ++k) {
    const auto& cell = result.links.cells[k];
    std::optional<LinkClass> near;
    if (cell && is_pcie_class(cell->value)) near = cell->value;
    if (pcie && pcie->cells[k] && is_pcie_class(pcie->cells[k]->value)) {
      if (near && *near != pcie->cells[k]->value)
        fail_as_two_machines(fmt::format("{} to {} is {} in `topo -m` and {} in `topo -mp`",
                                         result.links.names[k / result.links.names.size()],
                                         result.links.names[k % result.links.names.size()],
                                         to_string(*near), to_string(pcie->cells[k]->value)));
      near = pcie->cells[k]->value;
    }
    result.pcie.push_back(near);
  }
  if (all && pcie) merge_beside(result.links, *pcie);
  return result;
}

void add_nvlinks(const LinkMatrix& matrix, Topology& topology, std::vector<Finding>& findings) {
  warn_of_fabric_beyond_gpus(matrix, findings);
  const auto switched = switched_gpus(matrix);
  const auto connect = [&](NodeId from, NodeId to, int count, Origin origin) {
    Link link;
    link.from = from;
    link.to = to;
    link.kind = LinkKind::nvlink;
    link.count = count;
    link.origin = origin;
    topology.connect(link);
  };
  if (!switched.empty()) {
    Node fabric;
    fabric.kind = NodeKind::nvswitch;
    fabric.name = "nvswitch0";
    fabric.origin = Origin::inferred;
    const NodeId id = topology.add(std::move(fabric));
    for (const auto& [gpu, count] : switched)
      connect(*topology.find(matrix.names[gpu]), id, count, Origin::inferred);
    const auto [fewest, most] =
        std::ranges::minmax_element(switched, {}, &std::map<std::size_t, int>::value_type::second);
    findings.push_back(
        {Severity::note, 0,
         fmt::format("NV{} among {} GPUs is more than the {} links of a GPU: they are "
                     "taken to hang on NVSwitches, drawn as one",
                     most->second, switched.size(), most_nvlinks)});
    if (fewest->second < most->second)
      findings.push_back({Severity::warning, 0,
                          fmt::format("{} has {} NVLinks where others have {}: some may be down",
                                      matrix.names[fewest->first], fewest->second, most->second)});
  }
  for (std::size_t i = 0; i < matrix.gpus; ++i)
    for (const auto& [j, count] : nvlinks_of(matrix, i))
      if (j > i && !switched.contains(i))
        connect(*topology.find(matrix.names[i]), *topology.find(matrix.names[j]), count,
                Origin::read);
}

Topology topology_from_matrix(const MergedMatrix& matrix, std::vector<Finding>& findings) {
  Topology topology = TreeBuilder(matrix, findings).build();
  add_nvlinks(matrix.links, topology, findings);
  add_xgmi(matrix.links, topology);
  return topology;
}

}  // namespace ringside
