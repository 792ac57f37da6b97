// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/op_demand.hpp"

#include <algorithm>

namespace ringside {

OpDemand demand_of(const Machine& machine, int gpu, std::span<const Place> sources,
                   std::span<const Place> destinations) {
  const bool is_copy = sources.size() == 1 && destinations.size() == 1;
  const Mover mover = is_copy ? machine.mover() : Mover::kernel;
  const Overheads& overheads = machine.overheads();
  OpDemand demand;
  demand.overhead = mover == Mover::kernel ? overheads.op : overheads.copy_op;
  const auto add = [&](const Way& way, double& latency) {
    demand.uses.insert(demand.uses.end(), way.uses.begin(), way.uses.end());
    latency = std::max(latency, way.latency);
  };
  double reads = 0, writes = 0;
  for (const Place& from : sources) add(machine.read(from, gpu, mover), reads);
  for (const Place& to : destinations) add(machine.write(gpu, to, mover), writes);
  demand.latency = reads + writes;
  return demand;
}

}  // namespace ringside
