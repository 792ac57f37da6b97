// SPDX-License-Identifier: MIT
#include "ringside/topology/live/live.hpp"

#include "ringside/topology/live/cuda_runtime.hpp"
#include "ringside/topology/live/hwloc.hpp"
#include "ringside/topology/live/nvml.hpp"
#include "ringside/topology/live/sysfs.hpp"

namespace ringside {

BuiltTopology read_live(const LiveSources& sources) {
  BuiltTopology built;
  PciMachine machine = read_sysfs(sources.root, built.findings);
  if (!sources.hwloc.empty())
    if (const auto hwloc = read_hwloc(sources.hwloc, built.findings)) add_hwloc(*hwloc, machine);
  built.topology = topology_from_pci(machine);
  if (!sources.nvml.empty())
    add_nvml(read_nvml(sources.nvml, built.findings), built.topology, built.findings);
  if (!sources.cuda.empty())
    if (const auto cuda = read_cuda_runtime(sources.cuda, built.findings))
      add_cuda_devices(*cuda, built.topology, built.findings);
  if (built.topology.gpus().empty())
    built.findings.push_back({Severity::note, 0, "no GPU is there"});
  return built;
}

}  // namespace ringside
