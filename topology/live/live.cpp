// SPDX-License-Identifier: MIT
#include "ringside/topology/live/live.hpp"

#include "ringside/topology/live/nvml.hpp"
#include "ringside/topology/live/sysfs.hpp"

namespace ringside {

BuiltTopology read_live(const LiveSources& sources) {
  BuiltTopology built;
  built.topology = topology_from_pci(read_sysfs(sources.root, built.findings));
  add_nvml(read_nvml(sources.nvml, built.findings), built.topology, built.findings);
  if (built.topology.gpus().empty())
    built.findings.push_back({Severity::note, 0, "no GPU is there"});
  return built;
}

}  // namespace ringside
