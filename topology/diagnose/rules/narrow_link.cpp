// SPDX-License-Identifier: MIT
/// D20: a GPU, or a bridge above it, uses fewer lanes than it could.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/nvlink_graph.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

struct Narrow {
  std::string device;  ///< "GPU3", "bridge 40:01.1"
  int now = 0, could = 0;
  std::vector<ShownLine> lines;
};

Diagnosis diagnosis_of(Certainty certainty, std::string why, const std::vector<Narrow>& all) {
  Diagnosis found;
  found.certainty = certainty;
  found.why = std::move(why);
  for (const auto& each : all) {
    add_lines(found.shown, each.lines);
    if (each.device.starts_with("GPU"))
      found.mend.mended.push_back(fmt::format("slot:{}=x{}", each.device, each.could));
    found.slowdown = std::max(found.slowdown, static_cast<double>(each.could) / each.now);
  }
  found.confirm =
      "nvidia-smi -q shows \"Link Width\" Current below Max, also while data move (the width does "
      "not change when the card is idle)";
  found.fix =
      "put the card in a slot that is wired to the processor with all lanes (many slots look like "
      "x16 and have 4 or 8); reseat it; look for lanes that the board shares with an M.2 drive or "
      "a second slot, and for the BIOS setting that splits a slot (bifurcation)";
  return found;
}

/// What nvidia-smi and our preflight say of the GPUs' own links.
std::vector<Narrow> narrow_gpus(const Evidence& evidence) {
  std::vector<Narrow> narrow;
  for (const auto& link : gpu_links(evidence)) {
    const auto now = link.status->width_of("Current"), could = link.status->width_of("Max");
    if (!now || !could || *now <= 0 || *now >= *could) continue;
    if (std::ranges::find(narrow, link.name, &Narrow::device) != narrow.end()) continue;
    narrow.push_back({link.name, *now, *could, lines_of(evidence, link, "Link Width")});
  }
  return narrow;
}

int lanes(std::string_view width) {
  return static_cast<int>(
      parse_int(width.substr(std::min<std::size_t>(1, width.size())), 1, 64).value_or(0));
}

/// Of devices whose buses are told: those that lie between GPUs and the processor, a GPU among
/// them, with the devices at the other ends of the links that they may be the end of.
std::map<const LspciDevice*, std::set<const LspciDevice*>> neighbours(const LspciLinks& links) {
  std::map<const LspciDevice*, std::set<const LspciDevice*>> found;
  for (const auto& gpu : links.devices) {
    if (!is_nvidia_gpu(gpu)) continue;
    const LspciDevice* below = &gpu;
    found[below];
    for (const auto* bridge : bridges_above(links, gpu)) {
      found[below].insert(bridge);
      found[bridge].insert(below);
      below = bridge;
    }
  }
  return found;
}

/// A link has two ends, and lspci does not say which neighbour is the other: it is narrow where it
/// uses less than the device and all its neighbours could.
std::vector<Narrow> narrow_devices(const Evidence& evidence) {
  std::vector<Narrow> narrow;
  for (const auto& links : evidence.all<LspciLinks>())
    for (const auto& [device, others] : neighbours(*links.facts)) {
      if (!device->status || !device->capability) continue;
      const int now = lanes(device->status->width);
      int could = lanes(device->capability->width);
      for (const auto* other : others)
        could = std::min(could, other->capability ? lanes(other->capability->width) : could);
      if (now <= 0 || now >= could) continue;
      Narrow each{fmt::format("{} {}", is_nvidia_gpu(*device) ? "the GPU" : "bridge",
                              device->address.empty() ? "(no address)" : device->address),
                  now,
                  could,
                  {}};
      for (const int line : {device->line, device->status_line})
        if (auto shown = evidence.line(links.reading->source, line))
          each.lines.push_back(std::move(*shown));
      narrow.push_back(std::move(each));
    }
  return narrow;
}

/// What the machine itself states: a live one, an XML file.
std::vector<Narrow> narrow_in_topology(const Evidence& evidence) {
  std::vector<Narrow> narrow;
  const Topology* topology = evidence.topology();
  if (topology == nullptr) return narrow;
  for (const NodeId gpu : topology->gpus())
    for (std::optional<LinkId> up = topology->link_up(gpu); up;
         up = topology->link_up(topology->link(*up).to)) {
      const Link& link = topology->link(*up);
      const auto& name = topology->node(link.from).name;
      if (link.kind != LinkKind::pcie || !link.width || !link.most_width || *link.width <= 0 ||
          *link.width >= *link.most_width ||
          std::ranges::find(narrow, name, &Narrow::device) != narrow.end())
        continue;
      narrow.push_back({name, *link.width, *link.most_width, {}});
    }
  return narrow;
}

std::string said_of(const std::vector<Narrow>& narrow) {
  std::string text;
  for (const auto& each : narrow)
    text += fmt::format("{}{} uses {} lane{} of {}", text.empty() ? "" : ", ", each.device,
                        each.now, each.now == 1 ? "" : "s", each.could);
  return text;
}

/// Without widths: one GPU whose copies are all far slower than those between the others.
std::vector<Diagnosis> slow_in_all_pairs(const Evidence& evidence) {
  constexpr double far_slower = 0.6, alike = 0.8;
  const auto pairs = gpu_pairs(evidence);
  if (evidence.has(Input::pcie_links)) return {};
  std::set<int> gpus;
  for (const auto& pair : pairs) gpus.insert({pair.first, pair.second});
  if (gpus.size() < 3) return {};
  for (const int gpu : gpus) {
    double best_with = 0, least_without = 1e300, best_without = 0;
    for (const auto& pair : pairs) {
      if (pair.fabric) return {};
      const auto rate = measured_pair(evidence, pair, std::nullopt);
      if (!rate) return {};
      if (pair.first == gpu || pair.second == gpu)
        best_with = std::max(best_with, *rate);
      else
        least_without = std::min(least_without, *rate),
        best_without = std::max(best_without, *rate);
    }
    if (best_with > far_slower * least_without || least_without < alike * best_without) continue;
    auto found = diagnosis_of(
        Certainty::possible,
        fmt::format("no copy from or to GPU{} reaches more than {} GB/s, between the others it is "
                    "{} GB/s and more (measured): fewer lanes, or an older slot",
                    gpu, gb(best_with), gb(least_without)),
        {});
    found.slowdown = least_without / best_with;
    found.decided_by = {Input::pcie_links};
    return {std::move(found)};
  }
  return {};
}

/// That the link is narrow is certain. A card that is alone, as in laptops, whose boards give it 8
/// lanes, has nobody to exchange data with.
Diagnosis narrow_for_sure(const Evidence& evidence, const std::vector<Narrow>& narrow) {
  const bool alone = evidence.gpus() == 1, nvlink = rings_stay_in_nvlink(evidence);
  auto found = diagnosis_of(
      alone ? Certainty::possible : Certainty::certain,
      said_of(narrow) +
          (alone    ? ": it matters for copies to and from the host"
           : nvlink ? ": rings stay in NVLink; it matters for copies to and from the host and NICs"
                    : ": every ring through it goes at the speed of this link"),
      narrow);
  if (alone || nvlink) found.harm = Harm::risk;
  if (nvlink) {  // no collective in the box gets faster
    found.mend = {};
    found.slowdown = 1;
  }
  return found;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  for (const auto narrow_ones : {narrow_gpus, narrow_devices, narrow_in_topology})
    if (const auto narrow = narrow_ones(evidence); !narrow.empty())
      return {narrow_for_sure(evidence, narrow)};
  return slow_in_all_pairs(evidence);
}

}  // namespace

Rule narrow_link_rule() {
  return {.id = "D20",
          .title = "A card uses fewer PCIe lanes than it could",
          .source =
              "noonghunna/club-3090#895, #44, tinygrad/open-gpu-kernel-modules#44, #17, "
              "ROCm/legacy-rocm-build#38, #125, open-mpi/hwloc#653",
          .inputs = {Input::pcie_links, Input::pair_bandwidth},
          .find = find};
}

}  // namespace ringside
