// SPDX-License-Identifier: MIT
/// D15: an EPYC processor presented as one NUMA node spreads staged data over its whole die.
#include <fmt/format.h>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto model = evidence.host_value(HostFactKind::processor, "Model name");
  const auto sockets = evidence.host_value(HostFactKind::processor, "Socket(s)");
  const auto nodes = evidence.host_value(HostFactKind::processor, "NUMA node(s)");
  if (!model || !sockets || !nodes || model->value.find("EPYC") == std::string::npos) return {};
  const auto staging = staging_of(evidence);
  if (nodes->value != sockets->value || !staging || evidence.hypervisor()) return {};
  Diagnosis found;
  found.certainty = Certainty::possible;
  found.why = fmt::format(
      "{} with {} NUMA node{} on {} socket{} (NPS1), and data are staged through its memory",
      model->value, nodes->value, nodes->value == "1" ? "" : "s", sockets->value,
      sockets->value == "1" ? "" : "s");
  found.shown = {model->line, sockets->line, nodes->line};
  add_lines(found.shown, staging->lines, 5);
  found.confirm =
      "copies between each GPU and the memory of each NUMA node (numactl --membind) "
      "stay clearly below what the link can do";
  found.fix =
      "if that confirms it: NPS4 in the BIOS, with staging buffers on the GPU's own node; "
      "preferred IO and relaxed ordering where the BIOS has them";
  found.slowdown = 1.3;
  found.decided_by = {Input::host_bandwidth};
  return {std::move(found)};
}

}  // namespace

Rule nodes_per_socket_rule() {
  return {.id = "D15",
          .title = "One NUMA node per EPYC socket slows staging down",
          .source = "NVIDIA/nccl-tests#293, NVIDIA/nccl#1285, NVIDIA/nccl-tests#74",
          .inputs = {Input::processors, Input::host_bandwidth},
          .find = find};
}

}  // namespace ringside
