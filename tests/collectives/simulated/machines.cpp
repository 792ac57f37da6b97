// SPDX-License-Identifier: MIT
#include "machines.hpp"

#include <stdexcept>
#include <utility>

#include "ringside/topology/presets/box.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

constexpr double giga = 1e9;

LinkModel without_times(LinkModel model) {
  for (Figure& figure : model.figures)
    if (figure.unit == "us") figure.value = 0;
  return model;
}

void set(LinkModel& model, const std::string& name, double value) {
  Figure figure = *model.find(name);
  figure.value = value;
  model.set(figure);
}

/// NVLink of generation 3 at `link_rate_of_simple` whoever moves the bytes, and nothing else.
LinkModel simple_model(const SimpleCosts& costs) {
  LinkModel model = without_times(link_model_named("nvswitch-ampere"));
  for (const char* name : {"nvlink3.nominal", "nvlink3.engine", "nvlink3.kernel"})
    set(model, name, link_rate_of_simple / giga);
  set(model, "memory.default", 1e20);
  set(model, "latency.nvlink", costs.latency);
  set(model, "overhead.op", costs.op);
  set(model, "overhead.wait", costs.wait);
  set(model, "overhead.call", costs.call);
  return model;
}

/// GPUs that NVLink joins; the PCIe tree below them is never used.
Box gpus_in(Topology& topology, int count) {
  Box box(topology);
  const NodeId bridge = box.bridge(box.numa(0));
  Slot slot;
  slot.generation = 4;
  slot.width = 16;
  GpuModel model;
  model.name = "simple GPU";
  model.compute_capability = 80;
  model.nvlink_generation = 3;
  for (int i = 0; i < count; ++i) box.gpu(bridge, slot, model);
  return box;
}

Topology topology_of(std::string_view name) {
  auto topology = make_preset(name);
  if (!topology) throw std::invalid_argument("no preset " + std::string(name));
  return std::move(*topology);
}

}  // namespace

Machine star(int gpus, const SimpleCosts& costs) {
  Topology topology;
  Box box = gpus_in(topology, gpus);
  box.nvlinks_to(box.nvswitch(), 1);
  return {std::move(topology), simple_model(costs)};
}

Machine row(int gpus, const SimpleCosts& costs) {
  Topology topology;
  Box box = gpus_in(topology, gpus);
  for (std::size_t i = 0; i + 1 < box.gpus().size(); ++i)
    box.nvlink(box.gpus()[i], box.gpus()[i + 1], 1);
  return {std::move(topology), simple_model(costs)};
}

Machine preset_machine(std::string_view name) {
  Topology topology = topology_of(name);
  const LinkModel model = *link_model_for(topology).model;
  return {std::move(topology), model};
}

Machine preset_without_peer_access(std::string_view name) {
  Topology topology = topology_of(name);
  const LinkModel model = *link_model_for(topology).model;
  MachineSettings settings;
  settings.peer_access = false;
  return {std::move(topology), model, settings};
}

Machine preset_without_overheads(std::string_view name) {
  Topology topology = topology_of(name);
  const LinkModel model = without_times(*link_model_for(topology).model);
  return {std::move(topology), model};
}

}  // namespace ringside::tests
