// SPDX-License-Identifier: MIT
#include "ringside/topology/model/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/topology/model/ways.hpp"

namespace ringside {
namespace {

constexpr double micro = 1e-6;

/// Of a way, as one number: from, to, at the host, who, and in which direction.
std::uint64_t key_of(int near, Place place, Mover mover, bool writes) {
  return (static_cast<std::uint64_t>(near) << 35U) | (static_cast<std::uint64_t>(place.gpu) << 3U) |
         (place.host ? 4U : 0U) | (mover == Mover::copy_engine ? 2U : 0U) | (writes ? 1U : 0U);
}

}  // namespace

struct Machine::State {
  State(Topology the_topology, LinkModel the_model, MachineSettings the_settings)
      : topology(std::move(the_topology)),
        model(std::move(the_model)),
        settings(the_settings),
        ways(topology, model, settings) {
    const auto seconds = [&](const char* name) { return model.value(name) * micro; };
    overheads = {.call = seconds("overhead.call"),
                 .op = seconds("overhead.op"),
                 .copy_op = seconds("overhead.copy_op"),
                 .wait = seconds("overhead.wait")};
  }

  void check(int gpu) const {
    if (gpu < 0 || gpu >= static_cast<int>(ways.gpus().size()))
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("there is no GPU {}: the machine has {}", gpu, ways.gpus().size()));
  }

  const Topology topology;
  const LinkModel model;
  const MachineSettings settings;
  Ways ways;
  Overheads overheads;
  std::unordered_map<std::uint64_t, Way> known;
};

Machine::Machine(Topology topology, LinkModel model, MachineSettings settings)
    : state_(std::make_unique<State>(std::move(topology), std::move(model), settings)) {}
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

const Topology& Machine::topology() const { return state_->topology; }
const LinkModel& Machine::model() const { return state_->model; }
const MachineSettings& Machine::settings() const { return state_->settings; }
int Machine::gpus() const { return static_cast<int>(state_->ways.gpus().size()); }
std::span<const Resource> Machine::resources() const { return state_->ways.resources(); }
const Overheads& Machine::overheads() const { return state_->overheads; }

std::optional<LinkId> Machine::link_of(ResourceId resource) const {
  const bool is_link =
      resource >= 0 && resource < static_cast<ResourceId>(state_->topology.links().size());
  return is_link ? std::optional<LinkId>(resource) : std::nullopt;
}

bool Machine::peer_access(int gpu, int peer) const {
  state_->check(gpu);
  state_->check(peer);
  return state_->ways.reaches(gpu, peer);
}

bool Machine::through_host(int gpu, int peer) const {
  state_->check(gpu);
  state_->check(peer);
  return !state_->ways.peer_access(gpu, peer);
}

Mover Machine::mover() const {
  if (state_->settings.mover) return *state_->settings.mover;
  return state_->model.value("copies.by_engine") != 0 ? Mover::copy_engine : Mover::kernel;
}

const Way& Machine::read(Place from, int gpu, Mover mover) const {
  const auto key = key_of(gpu, from, mover, false);
  const auto known = state_->known.find(key);
  if (known != state_->known.end()) return known->second;
  state_->check(gpu);
  state_->check(from.gpu);
  return state_->known.emplace(key, state_->ways.read(from, gpu, mover)).first->second;
}

const Way& Machine::write(int gpu, Place to, Mover mover) const {
  const auto key = key_of(gpu, to, mover, true);
  const auto known = state_->known.find(key);
  if (known != state_->known.end()) return known->second;
  state_->check(gpu);
  state_->check(to.gpu);
  return state_->known.emplace(key, state_->ways.write(gpu, to, mover)).first->second;
}

CapacityGraph Machine::capacities() const {
  const Topology& topology = state_->topology;
  CapacityGraph graph;
  for (const auto& node : topology.nodes()) graph.vertices.push_back(node.name);
  graph.compute = state_->ways.gpus();
  for (LinkId id = 0; id < static_cast<LinkId>(topology.links().size()); ++id) {
    const Link& link = topology.link(id);
    graph.arcs.push_back({.from = link.from,
                          .to = link.to,
                          .capacity = state_->ways.best(id),
                          .name = state_->ways.resources()[static_cast<std::size_t>(id)].name});
  }
  return graph;
}

bool act_alike(const Machine& one, const Machine& other) {
  constexpr int most_compared = 32;
  if (one.gpus() != other.gpus() || one.mover() != other.mover() ||
      !std::ranges::equal(one.resources(), other.resources()) ||
      one.overheads() != other.overheads())
    return false;
  const int gpus = std::min(one.gpus(), most_compared);
  for (int gpu = 0; gpu < gpus; ++gpu)
    for (int peer = 0; peer < gpus; ++peer) {
      if (one.peer_access(gpu, peer) != other.peer_access(gpu, peer)) return false;
      for (const Place& place : {Place{peer, false}, Place{peer, true}})
        for (const Mover mover : {Mover::kernel, Mover::copy_engine})
          if (one.read(place, gpu, mover) != other.read(place, gpu, mover) ||
              one.write(gpu, place, mover) != other.write(gpu, place, mover))
            return false;
    }
  return true;
}

}  // namespace ringside
