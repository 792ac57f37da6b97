// SPDX-License-Identifier: MIT
/// D08: GPUs that are passed through to a virtual machine lose peer access.
#include <algorithm>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto hypervisor = evidence.hypervisor();
  const auto pairs = gpu_pairs(evidence);
  const bool denied = std::ranges::any_of(
      pairs, [](const GpuPair& pair) { return !pair.fabric && pair.status == "CNS"; });
  if (!hypervisor || !denied) return {};
  Diagnosis found;
  found.certainty = Certainty::likely;
  found.why =
      "this is a virtual machine, and the driver says of its chipset that it does not support peer "
      "access (CNS): a flat virtual PCIe tree gives it no reason to believe that writes to a peer "
      "would arrive";
  found.shown = {*hypervisor};
  if (const auto staging = staging_of(evidence)) add_lines(found.shown, staging->lines);
  found.confirm = "nvidia-smi topo -p2p r shows OK on the host";
  found.fix =
      "on the hypervisor: a GPUDirect clique for the GPUs that share a switch (QEMU: "
      "x-nv-gpudirect-clique), a virtual PCIe tree with the real switches, ATS. Without access to "
      "it: stage through the host";
  found.mend.as_is = {"p2p=off"};
  found.explains = {"D05"};
  return {std::move(found)};
}

}  // namespace

Rule virtual_machine_rule() {
  return {.id = "D08",
          .title = "The virtual machine hides from the driver that GPUs can reach each other",
          .source = "noonghunna/club-3090, NVIDIA/nccl#949, NVIDIA/nccl#439",
          .inputs = {Input::peer_matrix, Input::processors},
          .find = find};
}

}  // namespace ringside
