// SPDX-License-Identifier: MIT
#include "ringside/topology/writers/nccl_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/topology/gpu_places.hpp"
#include "ringside/topology/path.hpp"

namespace ringside {
namespace {

constexpr int ring_channels = 2;  // the least that NCCL uses

std::vector<NodeId> gpus_in(const Topology& topology, std::span<const int> order) {
  const auto all = topology.gpus();
  std::vector<NodeId> gpus;
  for (const int place : gpu_places(topology, order))
    gpus.push_back(all[static_cast<std::size_t>(place)]);
  if (gpus.size() != order.size() || !std::ranges::is_permutation(gpus, all) || gpus.size() < 2)
    throw Error(ErrorCode::invalid_argument, "a ring for NCCL names every GPU of the machine once");
  for (const NodeId gpu : gpus)
    if (topology.node(gpu).box != topology.node(gpus.front()).box)
      throw Error(ErrorCode::unsupported, "a ring for NCCL is written for one box only");
  return gpus;
}

/// The word for a hop; NCCL has none for NODE, whose path leads through the processor as well.
std::string_view word_for(LinkClass value) {
  switch (value) {
    case LinkClass::nvlink:
    case LinkClass::xgmi:
      return "NVL";
    case LinkClass::pix:
      return "PIX";
    case LinkClass::pxb:
      return "PXB";
    case LinkClass::phb:
    case LinkClass::node:
      return "PHB";
    default:
      return "SYS";
  }
}

}  // namespace

std::string nccl_ring_graph(const Topology& topology, std::span<const int> order, double gb_per_s) {
  const auto gpus = gpus_in(topology, order);
  LinkClass farthest = LinkClass::self;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    farthest = std::max(farthest, link_class(topology, gpus[i], gpus[(i + 1) % gpus.size()]).value);
  const double speed = gb_per_s / ring_channels;
  std::string text = fmt::format(
      "<graphs version=\"1\">\n"
      "  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"{}\" speedintra=\"{:.3g}\" "
      "speedinter=\"{:.3g}\" typeintra=\"{}\" typeinter=\"PIX\" samechannels=\"1\">\n",
      ring_channels, speed, speed, word_for(farthest));
  for (int channel = 0; channel < ring_channels; ++channel) {
    text += "    <channel>\n";
    for (const int number : order) text += fmt::format("      <gpu dev=\"0x{:x}\"/>\n", number);
    text += "    </channel>\n";
  }
  return text + "  </graph>\n</graphs>\n";
}

}  // namespace ringside
