// SPDX-License-Identifier: MIT
#include "ringside/topology/build/build_topology.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/topology/build/from_matrix.hpp"
#include "ringside/topology/build/from_xml.hpp"
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
  const auto is_fabric = [](const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
  };
  if (std::ranges::none_of(topology.links(), is_fabric)) add_nvlinks(matrix, topology, findings);
  for (std::size_t i = 0; i < matrix.gpus; ++i)
    for (std::size_t j = i + 1; j < matrix.gpus; ++j) {
      const auto first = topology.find(matrix.names[i]), second = topology.find(matrix.names[j]);
      const auto& cell = matrix.cell(i, j);
      if (!first || !second || !cell) continue;
      const auto pair = link_class(topology, *first, *second);
      if (cell->value >= pair.at_least && cell->value <= pair.at_most) continue;
      findings.push_back(
          {Severity::warning, 0,
           fmt::format("{} to {} is {} in the matrix, but {} in the tree", matrix.names[i],
                       matrix.names[j], to_string(*cell), to_string(pair))});
    }
}

void add_peer_access(const PeerMatrix& matrix, Topology& topology) {
  for (std::size_t i = 0; i < matrix.names.size(); ++i) {
    const auto from = topology.find(matrix.names[i]);
    if (!from)
      throw Error(ErrorCode::bad_input,
                  fmt::format("the inputs are of different machines: {} is in the peer matrix only",
                              matrix.names[i]));
    for (std::size_t j = 0; j < matrix.names.size(); ++j) {
      const auto to = topology.find(matrix.names[j]);
      const auto& status = matrix.cell(i, j);
      if (i == j || !to || status.empty()) continue;
      const PeerAccess access{
          .from = *from, .to = *to, .capability = matrix.capability, .status = status};
      if (std::ranges::find(topology.peer_access, access) == topology.peer_access.end())
        topology.peer_access.push_back(access);
    }
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

}  // namespace

bool tells_links(std::span<const Reading> readings) {
  return !all_of<NcclXml>(readings).empty() || !all_of<LinkMatrix>(readings).empty() ||
         !all_of<PeerMatrix>(readings).empty();
}

BuiltTopology build_topology(std::span<const Reading> readings) {
  BuiltTopology built;
  const auto trees = all_of<NcclXml>(readings);
  const auto matrices = all_of<LinkMatrix>(readings);
  const auto peers = all_of<PeerMatrix>(readings);
  if (!trees.empty()) {
    built.topology = topology_from_xml(*trees.front(), built.findings);
    for (std::size_t i = 1; i < trees.size(); ++i)
      if (std::vector<Finding> ignored; !(topology_from_xml(*trees[i], ignored) == built.topology))
        throw Error(ErrorCode::bad_input, "the topology files describe different machines");
    if (!matrices.empty())
      add_matrix(merge_matrices(matrices).links, built.topology, built.findings);
  } else if (!matrices.empty()) {
    built.topology = topology_from_matrix(merge_matrices(matrices), built.findings);
  } else if (!peers.empty()) {
    built.topology = only_gpus(*peers.front());
    built.findings.push_back(
        {Severity::note, 0, "a peer matrix does not tell how the GPUs are linked"});
  } else {
    throw Error(ErrorCode::bad_input, "no input tells how devices are linked");
  }
  for (const auto* peer : peers) add_peer_access(*peer, built.topology);
  return built;
}

}  // namespace ringside
