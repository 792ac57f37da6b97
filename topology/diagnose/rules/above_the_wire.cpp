// SPDX-License-Identifier: MIT
/// D38: a table shows more than PCIe can carry. Over NVSwitch that may be right (the switch adds
/// up, and a bus bandwidth above the links' is expected); over PCIe it is an error of the
/// measurement.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

/// A lane in one direction, GB/s on the wire, by generation: PCI-SIG.
constexpr std::array<double, 7> lane = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
constexpr int newest = 6, full_width = 16;

/// What the widest and fastest link of a GPU could carry; where it is not known, the most that any
/// can. Nothing where GPUs are also linked otherwise.
std::optional<double> wire(const Topology& topology) {
  for (const auto& link : topology.links())
    if (link.kind != LinkKind::pcie && link.kind != LinkKind::internal &&
        link.kind != LinkKind::socket)
      return std::nullopt;
  double most = 0;
  for (const NodeId gpu : topology.gpus()) {
    const auto up = topology.link_up(gpu);
    if (!up) return std::nullopt;
    const auto& link = topology.link(*up);
    // At which generation and width it runs now may be an idle card's.
    const int generation = std::clamp(link.most_generation.value_or(newest), 1, newest);
    const int width = link.most_width.value_or(full_width);
    most = std::max(most, width * lane[static_cast<std::size_t>(generation)]);
  }
  return most;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto* topology = evidence.topology();
  if (topology == nullptr || hosts_of(evidence) > 1 || evidence.nvlink_untold()) return {};
  // Of these SXM modules no NVLink is listed: down, or not told.
  if (has_model(evidence, "sxm")) return {};
  const auto most = wire(*topology);
  if (!most) return {};
  for (const auto& table : evidence.all<CollectiveRows>()) {
    if (!goes_in_rings(*table.facts) || gpus_of(evidence, *table.facts).size() < 2) continue;
    const auto best = best_row(evidence, table);
    if (!best || best->busbw <= *most) continue;
    Diagnosis found;
    found.certainty = Certainty::certain;
    found.harm = Harm::risk;
    found.why = fmt::format(
        "the table shows {} GB/s of bus bandwidth (measured), but a PCIe link of these GPUs "
        "cannot carry more than {} GB/s (predicted; of the newest generation and 16 lanes where "
        "no input tells): the measurement is wrong",
        gb(best->busbw), gb(*most));
    found.shown = {best->line};
    found.fix =
        "repeat it with checks (-c 1) and look at the number of ranks; a program of one's own: "
        "wait for the GPUs before the clock is read";
    return {std::move(found)};
  }
  return {};
}

}  // namespace

Rule above_the_wire_rule() {
  return {.id = "D38",
          .title = "The table shows more than the links can carry",
          .source = "stas00/ml-engineering, NVIDIA/nccl-tests#326",
          .inputs = {Input::collective, Input::topology_matrix},
          .find = find};
}

}  // namespace ringside
