// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/routes.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "ringside/collectives/executors/simulated/op_demand.hpp"

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

bool Routes::reaches(int gpu, const Place& place) const {
  return place.host || place.gpu == gpu || machine_.peer_access(gpu, place.gpu);
}

Route Routes::work_out() {
  const int gpu = gpus_[static_cast<std::size_t>(key_[0])];
  const auto sources = static_cast<std::size_t>(key_[1]);
  std::vector<Place> places;
  for (std::size_t i = 3; i < key_.size(); ++i) places.push_back(place(key_[i]));
  Route route;
  route.reached = std::all_of(places.begin(), places.end(),
                              [&](const Place& each) { return reaches(gpu, each); });
  if (!route.reached) return route;
  const std::span<const Place> all(places);
  const OpDemand demand = demand_of(machine_, gpu, all.first(sources), all.subspan(sources));
  route.path = engine_.add_path(demand.uses);
  route.overhead = demand.overhead;
  route.latency = demand.latency;
  return route;
}

}  // namespace ringside::simulated
