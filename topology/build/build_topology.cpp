// SPDX-License-Identifier: MIT
#include "ringside/topology/build/build_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ringside/base/error.hpp"
#include "ringside/topology/build/annotate.hpp"
#include "ringside/topology/build/from_lspci.hpp"
#include "ringside/topology/build/from_matrix.hpp"
#include "ringside/topology/build/from_nccl_graph.hpp"
#include "ringside/topology/build/from_pci.hpp"
#include "ringside/topology/build/from_xml.hpp"
#include "ringside/topology/build/measured.hpp"
#include "ringside/topology/path.hpp"

namespace ringside {
namespace {

template <class Kind>
std::vector<const Kind*> all_of(std::span<const Reading> readings) {
  std::vector<const Kind*> found;
  for (const auto& reading : readings)
    if (const auto* facts = std::get_if<Kind>(&reading.facts)) found.push_back(facts);
  return found;
}

/// A tree was given; the matrix must be of the same machine, and may tell its NVLinks.
void add_matrix(const LinkMatrix& matrix, Topology& topology, std::vector<Finding>& findings) {
  const auto gpus = static_cast<std::size_t>(topology.gpus().size());
  if (gpus != matrix.gpus)
    throw Error(ErrorCode::bad_input,
                fmt::format("the inputs are of different machines: one has {} GPUs, another {}",
                            gpus, matrix.gpus));
  for (std::size_t i = 0; i < matrix.gpus; ++i)
    if (!topology.find(matrix.names[i]))
      throw Error(ErrorCode::bad_input,
                  fmt::format("the inputs are of different machines: one has {}, another does not",
                              matrix.names[i]));
  const auto is_fabric = [](const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
  };
  if (std::ranges::none_of(topology.links(), is_fabric)) add_nvlinks(matrix, topology, findings);
  for (std::size_t i = 0; i < matrix.gpus; ++i)
    for (std::size_t j = i + 1; j < matrix.gpus; ++j) {
      const auto first = topology.find(matrix.names[i]), second = topology.find(matrix.names[j]);
      const auto& cell = matrix.cell(i, j);
      if (!cell) continue;
      const auto pair = link_class(topology, *first, *second);
      if (cell->value >= pair.at_least && cell->value <= pair.at_most) continue;
      findings.push_back(
          {Severity::warning, 0,
           fmt::format("{} to {} is {} in the matrix, but {} in the tree", matrix.names[i],
                       matrix.names[j], to_string(*cell), to_string(pair))});
    }
}

/// Nothing but who may reach whom: GPUs without a place.
Topology only_gpus(const PeerMatrix& matrix) {
  Topology topology;
  for (const auto& name : matrix.names) {
    Node node;
    node.kind = NodeKind::gpu;
    node.name = name;
    node.number = static_cast<int>(topology.nodes().size());
    topology.add(std::move(node));
  }
  return topology;
}

/// The tree that an input describes as such; several must be the same.
std::optional<Topology> described_tree(std::span<const Reading> readings,
                                       std::vector<Finding>& findings) {
  std::optional<Topology> tree;
  const auto take = [&](Topology other) {
    if (tree && !(*tree == other))
      throw Error(ErrorCode::bad_input, "the topology files describe different machines");
    tree = std::move(other);
  };
  for (const auto* topology : all_of<Topology>(readings)) take(*topology);
  for (const auto* machine : all_of<HwlocMachine>(readings)) take(topology_from_pci(machine->pci));
  for (const auto* xml : all_of<NcclXml>(readings)) {
    std::vector<Finding> found;
    take(topology_from_xml(*xml, found));
    if (findings.empty()) findings = std::move(found);
  }
  return tree;
}

/// The tree that lspci draws, unless it does not have the GPUs of the matrix: people cut it.
std::optional<Topology> drawn_tree(std::span<const Reading> readings,
                                   const std::vector<const LinkMatrix*>& matrices,
                                   std::vector<Finding>& findings) {
  auto tree = topology_from_lspci(readings);
  if (!tree || matrices.empty() || tree->gpus().size() == matrices.front()->gpus) return tree;
  findings.push_back(
      {Severity::warning, 0,
       fmt::format("lspci's tree has {} GPUs that are known, the matrix {}: the tree is not used",
                   tree->gpus().size(), matrices.front()->gpus)});
  return std::nullopt;
}

/// Also rocm-smi's tables, which are put in `converted`.
std::vector<const LinkMatrix*> all_matrices(std::span<const Reading> readings,
                                            std::vector<LinkMatrix>& converted) {
  auto matrices = all_of<LinkMatrix>(readings);
  for (const auto* rocm : all_of<RocmTopology>(readings)) converted.push_back(matrix_of(*rocm));
  for (const auto& matrix : converted) matrices.push_back(&matrix);
  return matrices;
}

/// The longest first: whole ones tell the addresses by which parts are placed.
std::vector<const std::vector<PcieStatus>*> pcie_lists(std::span<const Reading> readings) {
  std::vector<const std::vector<PcieStatus>*> lists;
  for (const auto* query : all_of<SmiQuery>(readings)) lists.push_back(&query->gpus);
  for (const auto* csv : all_of<SmiCsv>(readings)) lists.push_back(&csv->gpus);
  std::ranges::stable_sort(lists, std::greater{}, [](const auto* gpus) { return gpus->size(); });
  return lists;
}

void annotate(std::span<const Reading> readings, BuiltTopology& built) {
  for (const auto* peers : all_of<PeerMatrix>(readings)) add_peer_access(*peers, built.topology);
  for (const auto* gpus : pcie_lists(readings))
    add_pcie_status(*gpus, built.topology, built.findings);
  for (const auto* rocm : all_of<RocmTopology>(readings)) add_rocm(*rocm, built.topology);
  for (const auto* links : all_of<LspciLinks>(readings)) add_lspci(*links, built.topology);
  for (const auto* status : all_of<NvlinkStatus>(readings))
    add_nvlink_status(*status, built.topology, built.findings);
  add_measured_devices(readings, built.topology, built.findings);
}

}  // namespace

bool tells_links(std::span<const Reading> readings) {
  if (topology_from_lspci(readings)) return true;
  return std::ranges::any_of(readings, [](const Reading& reading) {
    return std::holds_alternative<NcclXml>(reading.facts) ||
           std::holds_alternative<Topology>(reading.facts) ||
           std::holds_alternative<HwlocMachine>(reading.facts) ||
           std::holds_alternative<LinkMatrix>(reading.facts) ||
           std::holds_alternative<RocmTopology>(reading.facts) ||
           std::holds_alternative<NcclGraph>(reading.facts) ||
           std::holds_alternative<PeerMatrix>(reading.facts);
  });
}

BuiltTopology build_topology(std::span<const Reading> readings) {
  BuiltTopology built;
  std::vector<LinkMatrix> converted;
  const auto matrices = all_matrices(readings, converted);
  const auto peers = all_of<PeerMatrix>(readings);
  auto tree = described_tree(readings, built.findings);
  if (!tree) tree = drawn_tree(readings, matrices, built.findings);
  if (tree) {
    built.topology = std::move(*tree);
    if (!matrices.empty())
      add_matrix(merge_matrices(matrices).links, built.topology, built.findings);
  } else if (!matrices.empty()) {
    built.topology = topology_from_matrix(merge_matrices(matrices), built.findings);
  } else if (const auto graphs = all_of<NcclGraph>(readings); !graphs.empty()) {
    built.topology = topology_from_nccl_graph(*graphs.front(), built.findings);
  } else if (!peers.empty()) {
    built.topology = only_gpus(*peers.front());
    built.findings.push_back(
        {Severity::note, 0, "a peer matrix does not tell how the GPUs are linked"});
  } else {
    throw Error(ErrorCode::bad_input, "no input tells how devices are linked");
  }
  annotate(readings, built);
  return built;
}

}  // namespace ringside
