// SPDX-License-Identifier: MIT
#include "machines.hpp"

#include <fmt/format.h>

#include "ringside/topology/presets/box.hpp"

namespace ringside::tests {

int GraphBuilder::vertex(const std::string& name) {
  graph_.vertices.push_back(name);
  return static_cast<int>(graph_.vertices.size()) - 1;
}

int GraphBuilder::rank() {
  graph_.compute.push_back(vertex(fmt::format("GPU{}", graph_.compute.size())));
  return graph_.compute.back();
}

void GraphBuilder::arc(int from, int to, double gigabytes) {
  const auto name = [this](int vertex) {
    return graph_.vertices[static_cast<std::size_t>(vertex)];
  };
  graph_.arcs.push_back({from, to, gigabytes * 1e9, fmt::format("{} -> {}", name(from), name(to))});
}

void GraphBuilder::link(int a, int b, double gigabytes) {
  arc(a, b, gigabytes);
  arc(b, a, gigabytes);
}

CapacityGraph star(int ranks, double gigabytes) {
  GraphBuilder builder;
  const int hub = builder.vertex("switch");
  for (int i = 0; i < ranks; ++i) builder.link(builder.rank(), hub, gigabytes);
  return builder.graph();
}

CapacityGraph a100_boxes(int boxes) {
  GraphBuilder builder;
  const int network = boxes > 1 ? builder.vertex("network") : -1;
  for (int box = 0; box < boxes; ++box) {
    const int nvswitch = builder.vertex(fmt::format("nvswitch{}", box));
    for (int i = 0; i < 8; ++i) {
      const int gpu = builder.rank();
      builder.link(gpu, nvswitch, 300);
      if (boxes > 1) builder.link(gpu, network, 25);
    }
  }
  return builder.graph();
}

CapacityGraph dgx1v_mesh() {
  GraphBuilder builder;
  for (int i = 0; i < 8; ++i) builder.rank();
  for (const auto& bond : hybrid_cube_mesh())
    builder.link(bond.first, bond.second, 25 * bond.count);
  return builder.graph();
}

CapacityGraph two_sockets(int each, double gpu, double socket) {
  GraphBuilder builder;
  const int left = builder.vertex("socket0");
  const int right = builder.vertex("socket1");
  builder.link(left, right, socket);
  for (const int side : {left, right})
    for (int i = 0; i < each; ++i) builder.link(builder.rank(), side, gpu);
  return builder.graph();
}

CapacityGraph two_switches_on_sockets(int each, double gpu, double uplink, double socket) {
  GraphBuilder builder;
  const int left = builder.vertex("socket0");
  const int right = builder.vertex("socket1");
  builder.link(left, right, socket);
  for (const int side : {left, right}) {
    const int chip = builder.vertex(fmt::format("switch{}", side));
    builder.link(chip, side, uplink);
    for (int i = 0; i < each; ++i) builder.link(builder.rank(), chip, gpu);
  }
  return builder.graph();
}

}  // namespace ringside::tests
