// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/routes.hpp"

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

Route Routes::work_out() {
  const auto first_destination = static_cast<std::size_t>(key_[1]) + 2;
  std::vector<Place> places;
  for (std::size_t i = 2; i < key_.size(); ++i) places.push_back(place(key_[i]));
  const std::span<const Place> all(places);
  const OpDemand demand =
      demand_of(machine_, gpus_[static_cast<std::size_t>(key_[0])],
                all.first(first_destination - 2), all.subspan(first_destination - 2));
  return {.path = engine_.add_path(demand.uses),
          .overhead = demand.overhead,
          .latency = demand.latency};
}

}  // namespace ringside::simulated
