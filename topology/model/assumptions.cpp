// SPDX-License-Identifier: MIT
#include "ringside/topology/model/assumptions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "ringside/topology/model/identify.hpp"
#include "ringside/topology/model/link_rates.hpp"
#include "ringside/topology/model/routes.hpp"

namespace ringside {
namespace {

LinkId count_of(const Topology& topology) { return static_cast<LinkId>(topology.links().size()); }

std::string links_text(std::size_t count) {
  return fmt::format("{} link{}", count, count == 1 ? "" : "s");
}

/// Whether NVLink, xGMI or a switch of these joins all GPUs.
bool is_one_fabric(const Topology& topology) {
  const auto gpus = topology.gpus();
  for (auto from = gpus.begin(); from != gpus.end(); ++from)
    for (auto to = from + 1; to != gpus.end(); ++to)
      if (!joined_by_fabric(topology, *from, *to)) return false;
  return true;
}

void add_pcie(const Topology& topology, const LinkModel& model, std::vector<Assumption>& all) {
  std::map<std::pair<int, int>, std::size_t> counts;  // by generation and width
  std::vector<LinkId> links;
  bool of_generation = false, of_width = false;
  for (LinkId id = 0; id < count_of(topology); id += 2) {
    const Link& link = topology.link(id);
    if (link.kind != LinkKind::pcie || link.bandwidth || (link.generation && link.width)) continue;
    of_generation |= !link.generation;
    of_width |= !link.width;
    ++counts[{pcie_generation_of(topology, model, id), link.width.value_or(full_pcie_width)}];
    links.push_back(id);
  }
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : counts)
    kinds.push_back(fmt::format("PCIe {}.0 x{} ({})", kind.first, kind.second, links_text(count)));
  if (kinds.empty()) return;
  all.push_back({.what = fmt::format("{}", fmt::join(kinds, ", ")),
                 .tell = !of_width        ? "--what-if pcie=genN"
                         : !of_generation ? "--what-if slot:GPU=xN"
                                          : "--what-if pcie=genN and slot:GPU=xN",
                 .links = std::move(links)});
}

void add_sockets(const Topology& topology, const LinkModel& model, std::vector<Assumption>& all) {
  const Figure* figure = model.find("socket.bandwidth");
  if (figure == nullptr || figure->confidence != Confidence::assumed) return;
  std::vector<LinkId> links;
  for (LinkId id = 0; id < count_of(topology); id += 2) {
    const Link& link = topology.link(id);
    if (link.bandwidth || !leaves_package(topology, link)) continue;
    const auto processor = processor_of(topology, link.from);
    if (processor.empty() || model.find("socket." + processor + ".bandwidth") == nullptr)
      links.push_back(id);
  }
  if (!links.empty())
    all.push_back(
        {.what = fmt::format("socket {:g} GB/s ({})", figure->value, links_text(links.size())),
         .tell = "--set socket.bandwidth=N",
         .links = links});
}

/// Whose NVLinks are as many.
std::string_view owners(int count) {
  constexpr int of_v100 = 6, of_a100 = 12;
  if (count <= of_v100) return "V100's; bridges of later cards have as many";
  if (count <= of_a100) return "A100's; bridges of Hopper cards have as many";
  return "Hopper's; Blackwell's are as many and twice as fast";
}

void add_nvlink(const Topology& topology, std::vector<Assumption>& all) {
  std::set<std::string> kinds;
  std::vector<LinkId> links;
  int most = 0;
  for (LinkId id = 0; id < count_of(topology); id += 2) {
    const Link& link = topology.link(id);
    const auto is_known = [&](NodeId end) {
      return topology.node(end).kind == NodeKind::gpu && compute_capability(topology.node(end));
    };
    if (link.kind != LinkKind::nvlink || link.generation || link.bandwidth || is_known(link.from) ||
        is_known(link.to))
      continue;
    kinds.insert(
        nvlink_kind_of(topology, link).replace(0, std::string_view("nvlink").size(), "NVLink "));
    links.push_back(id);
    most = std::max(most, link.count.value_or(1));
  }
  if (!kinds.empty())
    all.push_back(
        {.what = fmt::format("{} (by their number: {})", fmt::join(kinds, ", "), owners(most)),
         .tell = "--what-if nvlink=genN",
         .links = std::move(links)});
}

/// A file of buses has no NVLinks.
void add_unlisted_nvlink(const Topology& topology, std::vector<Assumption>& all) {
  const bool has_fabric = std::ranges::any_of(topology.links(), [](const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
  });
  if (!has_fabric && lists_only_buses(topology) && topology.gpus().size() > 1)
    all.push_back({.what = "no NVLink (the file lists none; NCCL asks the driver for it)",
                   .tell = "nvidia-smi topo -m as one more --topo",
                   .links = {},
                   .of_links_that_lack = true});
}

void add_memory(const Topology& topology, const LinkModel& model, std::vector<Assumption>& all) {
  const Figure* figure = model.find("memory.default");
  if (figure == nullptr || figure->confidence != Confidence::assumed) return;
  const auto gpus = topology.gpus();
  if (std::ranges::any_of(gpus, [&](NodeId id) {
        return figure_of_gpu(model, "memory.", topology.node(id)) == nullptr;
      }))
    all.push_back({.what = fmt::format("GPU memory {:g} GB/s", figure->value),
                   .tell = "--set memory.default=N",
                   .links = {}});
}

}  // namespace

bool lists_only_buses(const Topology& topology) {
  return std::ranges::all_of(topology.gpus(), [&](NodeId id) {
    const Node& gpu = topology.node(id);
    return gpu.address && !gpu.model && !gpu.details.contains("gpu.sm") &&
           !gpu.details.contains("gpu.dev");
  });
}

std::vector<Assumption> assumptions_of(const Topology& topology, const LinkModel& model) {
  std::vector<Assumption> all;
  if (!is_one_fabric(topology)) {
    add_pcie(topology, model, all);
    add_sockets(topology, model, all);
  }
  add_unlisted_nvlink(topology, all);
  add_nvlink(topology, all);
  add_memory(topology, model, all);
  return all;
}

std::string assumptions_text(std::span<const Assumption> assumptions) {
  if (assumptions.empty()) return {};
  std::vector<std::string_view> what, tell;
  for (const auto& each : assumptions) {
    what.push_back(each.what);
    tell.push_back(each.tell);
  }
  return fmt::format("assumed, not told: {}; tell with {}", fmt::join(what, ", "),
                     fmt::join(tell, ", "));
}

bool any_is_assumed(std::span<const Assumption> assumptions, std::span<const LinkId> links) {
  return std::ranges::any_of(assumptions, [&](const Assumption& each) {
    return each.of_links_that_lack || std::ranges::any_of(links, [&](LinkId id) {
             return std::ranges::find(each.links, id) != each.links.end() ||
                    std::ranges::find(each.links, Topology::reverse(id)) != each.links.end();
           });
  });
}

}  // namespace ringside
