// SPDX-License-Identifier: MIT
/// D26: fewer NVLinks are up than the bridge or the switch has.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/nvlink_graph.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

struct Bridged {
  std::string_view sign;  ///< in the model, small letters
  int links;              ///< of a pair with all bridges on: NVIDIA's data sheets
  int bridge_links;       ///< of one bridge: a pair may have been sold with fewer bridges
};
constexpr std::array<Bridged, 12> bridged_models = {{{"rtx 3090", 4, 4},
                                                     {"rtx a6000", 4, 4},
                                                     {"rtx a5500", 4, 4},
                                                     {"rtx a5000", 4, 4},
                                                     {"rtx a4500", 4, 4},
                                                     {"nvidia a40", 4, 4},
                                                     {"nvidia a30", 4, 4},
                                                     {"a100-pcie", 12, 4},
                                                     {"a100 80gb pcie", 12, 4},
                                                     {"h100 pcie", 12, 4},
                                                     {"2080 ti", 2, 2},
                                                     {"titan rtx", 2, 2}}};

/// Where all GPUs are of one model that bridges join.
const Bridged* bridged_model(const Evidence& evidence) {
  const auto models = evidence.gpu_models();
  if (models.size() != 1) return nullptr;
  const auto found = std::ranges::find_if(bridged_models, [&](const Bridged& each) {
    return to_lower(models.front()).find(each.sign) != std::string::npos;
  });
  return found == bridged_models.end() ? nullptr : &*found;
}

struct Fewer {
  std::string who;
  int links = 0, expected = 0;
  std::string because;  ///< of what they ought to have
  std::vector<std::string> devices;
};

struct Pair {
  int first, second, links;
};

/// Pairs of GPUs that have no NVLink but to each other. Empty where any has more.
std::vector<Pair> bridged_pairs(const NvlinkGraph& graph) {
  std::vector<Pair> pairs;
  for (const auto& group : graph.groups()) {
    if (group.size() > 2) return {};
    if (group.size() == 2) pairs.push_back({group[0], group[1], graph.links(group[0], group[1])});
  }
  return pairs;
}

Fewer pair_below(const Topology& topology, const Pair& pair, int expected, std::string because) {
  const std::array<int, 2> both = {pair.first, pair.second};
  return {.who = gpu_names(topology, both),
          .links = pair.links,
          .expected = expected,
          .because = std::move(because),
          .devices = {topology.node(topology.gpus()[static_cast<std::size_t>(pair.first)]).name}};
}

/// All GPUs on NVSwitches, with different numbers of links: only there has a GPU more than 6.
std::optional<Fewer> below_switches(const Topology& topology, const NvlinkGraph& graph) {
  constexpr int most_without_switch = 6;
  int most = 0;
  std::optional<Fewer> found;
  std::vector<int> links;
  for (int gpu = 0; gpu < graph.gpus(); ++gpu) {
    int own = 0;
    for (int other = 0; other < graph.gpus(); ++other) {
      if (other != gpu && graph.links(gpu, other) == 0) return std::nullopt;
      own = std::max(own, graph.links(gpu, other));
    }
    links.push_back(own);
    most = std::max(most, own);
  }
  if (graph.gpus() < 3 || most <= most_without_switch) return std::nullopt;
  for (int gpu = 0; gpu < graph.gpus(); ++gpu)
    if (const int own = links[static_cast<std::size_t>(gpu)]; own < most && !found)
      found = Fewer{.who = gpu_names(topology, std::span(&gpu, 1)),
                    .links = own,
                    .expected = most,
                    .because = "the others have as many",
                    .devices = {gpu_names(topology, std::span(&gpu, 1))}};
  return found;
}

std::optional<Fewer> in_matrix(const Evidence& evidence, int expected) {
  const auto* topology = evidence.topology();
  if (topology == nullptr) return std::nullopt;
  const NvlinkGraph graph(*topology);
  if (!graph.has_links()) return std::nullopt;
  const auto pairs = bridged_pairs(graph);
  if (pairs.empty()) return below_switches(*topology, graph);
  const auto fewest = std::ranges::min_element(pairs, {}, &Pair::links);
  const auto most = std::ranges::max_element(pairs, {}, &Pair::links);
  if (fewest->links < expected)
    return pair_below(*topology, *fewest, expected,
                      fmt::format("a bridge of {} has as many", evidence.gpu_models().front()));
  if (fewest->links < most->links && evidence.gpu_models().size() <= 1)
    return pair_below(*topology, *fewest, most->links, "another pair has as many");
  return std::nullopt;
}

/// A bridge has two ends: where links are up at an odd number of GPUs, and one is left without.
std::optional<Fewer> other_end(const NvlinkStatus& status) {
  const auto is_up = [](const NvlinkStatus::Gpu& gpu) { return !gpu.active.empty(); };
  const auto up = static_cast<std::size_t>(std::ranges::count_if(status.gpus, is_up));
  const auto without = std::ranges::find_if_not(status.gpus, is_up);
  // Where the list begins or ends within a GPU it tells nothing.
  const bool is_whole = status.gpus.front().number == 0 && without != status.gpus.end() &&
                        (without->all_inactive || without->inactive > 0);
  if (up % 2 == 0 || up + 1 != status.gpus.size() || !is_whole) return std::nullopt;
  return Fewer{
      .who = fmt::format("GPU{}", without->number),
      .links = 0,
      .expected = static_cast<int>(std::ranges::find_if(status.gpus, is_up)->active.size()),
      .because = "those at the other end are up",
      .devices = {fmt::format("GPU {}:", without->number)}};
}

/// `nvlink -s`: links that are there and down, beside others that are up.
std::optional<Fewer> in_status(const NvlinkStatus& status, int expected) {
  std::size_t most = 0;
  for (const auto& gpu : status.gpus)
    if (gpu.model == status.gpus.front().model) most = std::max(most, gpu.active.size());
  for (const auto& gpu : status.gpus) {
    if (gpu.active.empty() || gpu.model != status.gpus.front().model) continue;
    const auto up = static_cast<int>(gpu.active.size());
    const int wanted = std::max(expected, static_cast<int>(most));
    const bool may_be_cut = &gpu == &status.gpus.back() && up + gpu.inactive < wanted;
    if (may_be_cut) continue;
    if (up < wanted)
      return Fewer{.who = fmt::format("GPU{}", gpu.number),
                   .links = up,
                   .expected = wanted,
                   .because = up < expected ? "its model has as many" : "others have as many",
                   .devices = {fmt::format("GPU {}:", gpu.number)}};
  }
  return other_end(status);
}

/// NVLinks of these are on the board, to an NVSwitch or to other GPUs: nobody can seat them.
bool are_on_the_board(const Fewer& fewer, const Evidence& evidence) {
  constexpr int most_of_one_bridge = 4;
  return has_model(evidence, "sxm") || has_model(evidence, "hgx") ||
         (bridged_model(evidence) == nullptr && fewer.expected > most_of_one_bridge);
}

Diagnosis as_found(const Fewer& fewer, const Evidence& evidence) {
  const Bridged* model = bridged_model(evidence);
  const bool whole_bridges = model != nullptr && model->bridge_links < fewer.expected &&
                             fewer.links > 0 && fewer.links % model->bridge_links == 0;
  Diagnosis found;
  found.certainty = whole_bridges ? Certainty::likely : Certainty::certain;
  found.why = whole_bridges
                  ? fmt::format(
                        "{}: {} NVLinks are up, which is {} of the {} bridges that fit ({}): a "
                        "bridge is missing or down",
                        fewer.who, fewer.links, fewer.links / model->bridge_links,
                        fewer.expected / model->bridge_links, fewer.because)
                  : fmt::format("{}: {} NVLinks are up instead of {} ({})", fewer.who, fewer.links,
                                fewer.expected, fewer.because);
  found.confirm = "nvidia-smi nvlink -s lists each link and which are inactive";
  if (are_on_the_board(fewer, evidence))
    found.fix =
        "nvidia-smi nvlink -e counts the errors of the link that is down; with NVSwitches look at "
        "the fabric manager (systemctl status nvidia-fabricmanager, and its log) and start the "
        "machine anew; a link that stays down is for the vendor to mend";
  else
    found.fix = whole_bridges
                    ? "look how many bridges are on the cards: add those that are missing, and "
                      "with the machine off seat again those that are there"
                    : "switch the machine off and seat the NVLink bridge again, or replace it";
  found.slowdown = static_cast<double>(fewer.expected) / std::max(fewer.links, 1);
  return found;
}

/// No bridge has three links, but no input tells the model.
std::optional<Diagnosis> odd_pair(const Evidence& evidence) {
  const auto* topology = evidence.topology();
  if (topology == nullptr || !evidence.gpu_models().empty()) return std::nullopt;
  for (const auto& pair : bridged_pairs(NvlinkGraph(*topology))) {
    if (pair.links != 3) continue;
    const std::array<int, 2> both = {pair.first, pair.second};
    Diagnosis found;
    found.why = fmt::format("{} are joined by 3 NVLinks; bridges have 1, 2, 4 or 12",
                            gpu_names(*topology, both));
    for (const auto& matrix : evidence.all<LinkMatrix>())
      add_lines(found.shown, evidence.rows_of(*matrix.reading, matrix->names));
    found.confirm = "nvidia-smi nvlink -s lists 4 links of each GPU, one of them inactive";
    found.fix = "seat the NVLink bridge again, once the check confirms it";
    found.decided_by = {Input::nvlink_status};
    found.slowdown = 4.0 / 3;
    return found;
  }
  return std::nullopt;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const Bridged* model = bridged_model(evidence);
  const int expected = model == nullptr ? 0 : model->links;
  for (const auto& status : evidence.all<NvlinkStatus>())
    if (const auto fewer = in_status(*status.facts, expected)) {
      auto found = as_found(*fewer, evidence);
      found.shown = evidence.lines(*status.reading, [&](std::string_view line) {
        return line.find("nactive") != std::string_view::npos ||
               trim(line).starts_with(fewer->devices.front());
      });
      return {std::move(found)};
    }
  if (const auto fewer = in_matrix(evidence, expected)) {
    auto found = as_found(*fewer, evidence);
    for (const auto& matrix : evidence.all<LinkMatrix>())
      add_lines(found.shown, evidence.rows_of(*matrix.reading, fewer->devices));
    return {std::move(found)};
  }
  if (auto odd = odd_pair(evidence)) return {std::move(*odd)};
  return {};
}

}  // namespace

Rule partial_bridge_rule() {
  return {.id = "D26",
          .title = "NVLinks are down",
          .source = "NVIDIA/nccl#557, public file 39678753393",
          .inputs = {Input::nvlink_status, Input::topology_matrix},
          .find = find};
}

}  // namespace ringside
