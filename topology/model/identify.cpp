// SPDX-License-Identifier: MIT
#include "ringside/topology/model/identify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "ringside/base/text.hpp"

namespace ringside {
namespace {

std::string detail(const Node& node, const char* key) {
  const auto found = node.details.find(key);
  return found == node.details.end() ? std::string() : found->second;
}

int number(const std::string& text) {
  return static_cast<int>(parse_int(text, 0, 1 << 20).value_or(-1));
}

/// Family and model numbers as cpuid has them; NCCL writes the extended family in the upper half.
std::string amd_processor(int family, int model) {
  constexpr int ext_8 = 0x8f, ext_a = 0xaf, ext_b = 0xbf;
  constexpr int first_zen2_model = 0x30, first_zen4_model = 0x10;
  if (family == 0x17 || family == ext_8) return model >= first_zen2_model ? "amd-zen2" : "amd-zen1";
  if (family == 0x19 || family == ext_a) return model >= first_zen4_model ? "amd-zen4" : "amd-zen3";
  if (family == 0x1a || family == ext_b) return "amd-zen5";
  return "amd";
}

std::string intel_processor(int model) {
  switch (model) {
    case 63:
      return "intel-haswell";
    case 79:
      return "intel-broadwell";
    case 85:
      return "intel-skylake";
    case 106:
    case 108:
      return "intel-icelake";
    case 143:
    case 207:
      return "intel-sapphire-rapids";
    case 173:
    case 174:
      return "intel-granite-rapids";
    default:
      return "intel";
  }
}

/// Four digits of a name, the last telling the generation: EPYC 7502, Xeon Gold 6248.
std::string four_digits(std::string_view name) {
  for (const auto word : split_blanks(name))
    if (word.size() >= 4 && std::ranges::all_of(word.substr(0, 4), [](char c) {
          return std::isdigit(static_cast<unsigned char>(c)) != 0;
        }))
      return std::string(word.substr(0, 4));
  return "";
}

/// "AMD EPYC 7502 32-Core Processor", "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz": the makers' rules
/// for naming.
std::string processor_named(const std::string& name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  const std::string digits = four_digits(name);
  if (has("EPYC") && digits.size() == 4) {
    if (digits[0] == '9' || digits[0] == '8') return digits[3] == '5' ? "amd-zen5" : "amd-zen4";
    if (digits[3] >= '1' && digits[3] <= '3') return std::string("amd-zen") + digits[3];
  }
  if (has("Threadripper") && digits.size() == 4) {
    if (digits[0] == '9') return "amd-zen5";
    if (digits[0] == '7') return "amd-zen4";
    return digits[0] == '5' ? "amd-zen3" : digits[0] == '3' ? "amd-zen2" : "amd-zen1";
  }
  if (has("AMD")) return "amd";
  if (has(" v4")) return "intel-broadwell";
  if (has(" v3")) return "intel-haswell";
  if (has("Xeon") && digits.size() == 4) {
    if (digits[0] == '6' && has("P")) {  // Xeon 6 has a P behind its number
      const auto at = name.find(digits) + digits.size();
      if (at < name.size() && name[at] == 'P') return "intel-granite-rapids";
    }
    if (digits[1] == '1' || digits[1] == '2') return "intel-skylake";
    if (digits[1] == '3') return "intel-icelake";
    if (digits[1] == '4' || digits[1] == '5') return "intel-sapphire-rapids";
  }
  if (has("Intel")) return "intel";
  if (has("POWER9")) return "power9";
  return has("Neoverse-V2") || has("Grace") ? "grace" : "";
}

/// Whether a GPU below the node is one that is sold with its processor.
bool has_grace_gpu(const Topology& topology, NodeId node) {
  const auto name = to_lower(topology.node(node).model.value_or(""));
  if (name.find("gb200") != std::string::npos || name.find("gb300") != std::string::npos ||
      name.find("gh200") != std::string::npos)
    return true;
  return std::ranges::any_of(topology.children(node),
                             [&](NodeId child) { return has_grace_gpu(topology, child); });
}

/// Small letters and digits only.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

struct Family {
  std::string_view sign;
  int capability;
};
/// Signs in models, from the most particular on; NVIDIA's CUDA GPUs page.
constexpr std::array<Family, 26> families = {{
    {"gb300", 103}, {"b300", 103},     {"gb200", 100}, {"b200", 100}, {"rtxpro", 120},
    {"rtx50", 120}, {"rtx6000d", 120}, {"gh200", 90},  {"h100", 90},  {"h200", 90},
    {"h800", 90},   {"h20", 90},       {"rtx40", 89},  {"l40", 89},   {"ada", 89},
    {"l4", 89},     {"rtx30", 86},     {"rtxa", 86},   {"a100", 80},  {"a800", 80},
    {"a30", 80},    {"a10", 86},       {"rtx20", 75},  {"t4", 75},    {"v100", 70},
    {"p100", 60},
}};

std::optional<int> most_below(const Topology& topology, const LinkModel& model, NodeId node);

/// What a device can, or the fastest below it.
std::optional<int> generation_below(const Topology& topology, const LinkModel& model, NodeId node) {
  const Node& at = topology.node(node);
  if (at.kind == NodeKind::gpu) {
    if (const auto up = topology.link_up(node); up && topology.link(*up).generation)
      return topology.link(*up).generation;
    if (const Figure* figure = figure_of_gpu(model, "pcie_generation.", at))
      return static_cast<int>(figure->value);
    if (const auto capability = compute_capability(at))
      return *capability >= 90 ? 5 : *capability >= 80 ? 4 : 3;
    return std::nullopt;
  }
  return most_below(topology, model, node);
}

std::optional<int> most_below(const Topology& topology, const LinkModel& model, NodeId node) {
  std::optional<int> most;
  for (const NodeId child : topology.children(node))
    if (const auto generation = generation_below(topology, model, child))
      most = std::max(most.value_or(0), *generation);
  return most;
}

}  // namespace

std::string processor_of(const Topology& topology, NodeId node) {
  const Node& root = topology.node(topology.root(node));
  const auto vendor = detail(root, "vendor"), arch = detail(root, "arch");
  if (vendor == "AuthenticAMD")
    return amd_processor(number(detail(root, "familyid")), number(detail(root, "modelid")));
  if (vendor == "GenuineIntel") return intel_processor(number(detail(root, "modelid")));
  if (vendor == "CentaurHauls" || vendor.find("Shanghai") != std::string::npos) return "zhaoxin";
  if (auto named = processor_named(detail(root, "processor")); !named.empty()) return named;
  if (arch.starts_with("ppc")) return "power9";
  if (has_grace_gpu(topology, topology.root(node))) return "grace";
  if (arch.starts_with("arm") || arch.starts_with("aarch")) return "arm";
  return "";
}

bool leaves_package(const Topology& topology, const Link& link) {
  if (link.kind != LinkKind::socket) return false;
  const auto from = detail(topology.node(link.from), "package");
  return from.empty() || from != detail(topology.node(link.to), "package");
}

const Figure* figure_of_processor(const LinkModel& model, const std::string& name,
                                  const std::string& processor) {
  if (!processor.empty()) {
    if (const Figure* figure = model.find(name + "." + processor)) return figure;
    const auto vendor = processor.substr(0, processor.find('-'));
    if (const Figure* figure = model.find(name + "." + vendor)) return figure;
  }
  return model.find(name);
}

const Figure* figure_of_gpu(const LinkModel& model, std::string_view prefix, const Node& gpu) {
  const std::string name = plain(gpu.model.value_or(""));
  const Figure* best = nullptr;
  for (const auto& figure : model.figures) {
    if (!figure.name.starts_with(prefix)) continue;
    const auto sign = std::string_view(figure.name).substr(prefix.size());
    if (name.find(sign) == std::string::npos) continue;
    if (best == nullptr || figure.name.size() > best->name.size()) best = &figure;
  }
  return best;
}

std::optional<int> compute_capability(const Node& gpu) {
  if (const int stated = number(detail(gpu, "gpu.sm")); stated > 0) return stated;
  const std::string name = plain(gpu.model.value_or(""));
  for (const auto& family : families)
    if (name.find(family.sign) != std::string::npos) return family.capability;
  return std::nullopt;
}

int pcie_generation_of(const Topology& topology, const LinkModel& model, LinkId id) {
  const Link& link = topology.link(id);
  if (link.generation) return *link.generation;
  const bool goes_up = topology.link_up(link.from) == id;
  const auto below = generation_below(topology, model, goes_up ? link.from : link.to);
  const int generation = below.value_or(static_cast<int>(model.value("pcie_generation.default")));
  return std::min(generation, link.most_generation.value_or(generation));
}

std::string nvlink_kind_of(const Topology& topology, const Link& link) {
  constexpr int ga10x = 86, links_of_v100 = 6, links_of_a100 = 12;
  std::optional<int> generation = link.generation;
  for (const NodeId end : {link.from, link.to}) {
    const Node& node = topology.node(end);
    const auto capability =
        node.kind == NodeKind::gpu ? compute_capability(node) : std::optional<int>();
    if (!capability) continue;
    if (*capability == ga10x) return "nvlink-ga10x";
    if (!generation)
      generation = *capability >= 100  ? 5
                   : *capability >= 90 ? 4
                   : *capability >= 80 ? 3
                   : *capability >= 70 ? 2
                                       : 1;
  }
  const int count = link.count.value_or(1);
  return fmt::format("nvlink{}", generation.value_or(count <= links_of_v100   ? 2
                                                     : count <= links_of_a100 ? 3
                                                                              : 4));
}

std::string switch_vendor(const Node& node) {
  const auto vendor = to_lower(detail(node, "vendor"));
  if (vendor == "0x1000" || vendor == "0x10b5") return "broadcom";
  if (vendor == "0x11f8" || vendor == "0x1055") return "microchip";
  return "";
}

}  // namespace ringside
