// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/routes.hpp"

#include <algorithm>
#include <utility>

namespace ringside::simulated {

Routes::Routes(const Machine& machine, FlowEngine& engine, std::vector<int> gpus,
               std::size_t streams)
    : machine_(machine), engine_(engine), gpus_(std::move(gpus)), last_(streams) {}

std::size_t Routes::Hash::operator()(const std::vector<int>& key) const {
  std::size_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const int number : key) hash = (hash ^ static_cast<std::size_t>(number)) * 0x100000001b3U;
  return hash;
}

const Route& Routes::find() {
  const auto known = known_.find(key_);
  return known != known_.end() ? known->second : known_.emplace(key_, work_out()).first->second;
}

Route Routes::work_out() {
  const int gpu = gpus_[static_cast<std::size_t>(key_[0])];
  const auto first_destination = static_cast<std::size_t>(key_[1]) + 2;
  const bool is_copy = key_[1] == 1 && key_.size() == first_destination + 1;
  const Mover mover = is_copy ? machine_.mover() : Mover::kernel;
  const Overheads& overheads = machine_.overheads();
  Route route{.overhead = mover == Mover::kernel ? overheads.op : overheads.copy_op};
  std::vector<Use> uses;
  const auto add = [&](const Way& way, double& latency) {
    uses.insert(uses.end(), way.uses.begin(), way.uses.end());
    latency = std::max(latency, way.latency);
  };
  double reads = 0, writes = 0;
  for (std::size_t i = 2; i < first_destination; ++i)
    add(machine_.read(place(key_[i]), gpu, mover), reads);
  for (std::size_t i = first_destination; i < key_.size(); ++i)
    add(machine_.write(gpu, place(key_[i]), mover), writes);
  route.latency = reads + writes;
  route.path = engine_.add_path(uses);
  return route;
}

}  // namespace ringside::simulated
