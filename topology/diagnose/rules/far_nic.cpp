// SPDX-License-Identifier: MIT
/// D33: data for the network go through the host's memory, or to a NIC at another socket.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

/// Connections over InfiniBand or RoCE that do, or do not, reach the GPU's memory directly.
int infiniband_lines(const Evidence& evidence, bool direct) {
  int lines = 0;
  for (const auto& log : evidence.all<NcclLog>())
    for (const auto& [name, count] : log->transport_lines)
      if (name.starts_with("NET/IB") && (name.find("GDRDMA") != std::string::npos) == direct)
        lines += count;
  return lines;
}

std::vector<ShownLine> lines_without_direct_access(const Evidence& evidence) {
  std::vector<ShownLine> lines;
  for (const auto& log : evidence.all<NcclLog>())
    add_lines(lines, evidence.lines(
                         *log.reading,
                         [](std::string_view line) {
                           return line.find("via NET/IB") != std::string_view::npos &&
                                  line.find("GDRDMA") == std::string_view::npos;
                         },
                         3));
  return lines;
}

Diagnosis without_direct_access(const Evidence& evidence) {
  Diagnosis found;
  found.certainty = Certainty::certain;
  const int direct = infiniband_lines(evidence, true);
  found.why = fmt::format(
      "{} of {} connections over InfiniBand go through the host's memory: NCCL does not use "
      "GPUDirect RDMA for them",
      infiniband_lines(evidence, false), infiniband_lines(evidence, false) + direct);
  found.shown = lines_without_direct_access(evidence);
  found.confirm = "lsmod | grep nvidia_peermem; with GPUDirect the log says NET/IB/0/GDRDMA";
  found.fix =
      has_model(evidence, "geforce")
          ? "none for GeForce cards, which have no GPUDirect RDMA: see that NIC and GPU share a "
            "socket"
          : "modprobe nvidia-peermem (or a kernel with dma-buf); NIC and GPU below one switch, or "
            "NCCL_NET_GDR_LEVEL=SYS where they are not; ACS off on that way";
  found.slowdown = 2;
  return found;
}

/// GPUs to which every NIC is at another NUMA node.
std::vector<NodeId> far_gpus(const Topology& topology) {
  std::vector<NodeId> far;
  const auto nics = topology.nics();
  for (const NodeId gpu : topology.gpus()) {
    const bool all_far = std::ranges::all_of(nics, [&](NodeId nic) {
      const auto pair = link_class(topology, gpu, nic, Medium::pcie);
      return pair.decided() && pair.value == LinkClass::sys;
    });
    if (all_far) far.push_back(gpu);
  }
  return far;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  if (infiniband_lines(evidence, false) > 0) return {without_direct_access(evidence)};
  const auto* topology = evidence.topology();
  constexpr std::size_t most_gpus = 64;  // of a box; all pairs with NICs are looked at
  if (topology == nullptr || topology->nics().empty() || topology->gpus().size() > most_gpus)
    return {};
  const auto far = far_gpus(*topology);
  if (far.empty()) return {};
  std::vector<std::string> names;
  for (const NodeId gpu : far) names.push_back(topology->node(gpu).name);
  const bool used = hosts_of(evidence) > 1 && connections_via(evidence, "NET/") > 0;
  Diagnosis found;
  found.certainty = used ? Certainty::likely : Certainty::possible;
  found.harm = used ? Harm::slow : Harm::risk;
  found.why =
      fmt::format("every NIC is at another NUMA node than {}: {}", join(names, ", "),
                  used ? "what they send to other hosts crosses between sockets"
                       : "over more than one host, what they send would cross between sockets");
  for (const auto& matrix : evidence.all<LinkMatrix>())
    add_lines(found.shown, evidence.rows_of(*matrix.reading, names), 4);
  found.confirm =
      "ib_write_bw --use_cuda=N from such a GPU, beside one that is near a NIC; NCCL's log says "
      "which NIC each GPU uses";
  found.fix =
      "a NIC below the switch of each pair of GPUs (PIX or PXB in topo -m), or jobs over several "
      "hosts on the GPUs that are near one";
  found.slowdown = 1.5;
  found.decided_by = {Input::nccl_log};
  return {std::move(found)};
}

}  // namespace

Rule far_nic_rule() {
  return {
      .id = "D33",
      .title = "The network is far from the GPUs",
      .source = "NVIDIA/nccl#304, NVIDIA/nccl-tests#29, #232, NVIDIA/nccl#1357, NVIDIA/nccl#1453",
      .inputs = {Input::nccl_log, Input::topology_matrix},
      .find = find};
}

}  // namespace ringside
