// SPDX-License-Identifier: MIT
/// D42: with peer access, NCCL's ring leaves the switches more often than it must.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/log_ranks.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

using Classes = std::map<std::pair<int, int>, LinkClass>;

/// How near GPUs are over PCIe; empty where NVLink or doubt is among them.
Classes classes_of(const std::vector<GpuPair>& pairs) {
  Classes classes;
  for (const auto& pair : pairs) {
    if (pair.fabric || !pair.pcie.decided()) return {};
    classes[{pair.first, pair.second}] = classes[{pair.second, pair.first}] = pair.pcie.value;
  }
  return classes;
}

/// Hops that leave a switch.
int crossings(const Classes& classes, const std::vector<int>& ring) {
  int count = 0;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const auto hop = classes.find({ring[i], ring[(i + 1) % ring.size()]});
    if (hop != classes.end() && hop->second > LinkClass::pxb) ++count;
  }
  return count;
}

/// Those below one switch one after another, nearer switches first.
std::vector<int> nearest_next(const Classes& classes, const std::vector<int>& ring) {
  std::vector<int> left = ring, order;
  std::ranges::sort(left);
  while (!left.empty()) {
    auto next = left.begin();
    if (!order.empty())
      next = std::ranges::min_element(left, {}, [&](int gpu) {
        return classes.at({order.back(), gpu});
      });
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

bool is_permutation_of_gpus(const std::vector<int>& ring, const Evidence& evidence) {
  if (static_cast<int>(ring.size()) != evidence.gpus().value_or(0) || ring.size() < 4) return false;
  auto sorted = ring;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int>(i)) return false;
  return true;
}

/// The variable that gives NCCL its rings, with its value.
std::optional<StatedValue> setting_of_rings(const Evidence& evidence) {
  for (const char* variable : {"NCCL_GRAPH_FILE", "NCCL_RINGS"})
    if (auto value = evidence.environment(variable)) {
      value->value = fmt::format("{}={}", variable, value->value);
      return value;
    }
  return std::nullopt;
}

/// Ranks in another order would not do: NCCL looks for rings among the GPUs, not the ranks.
std::string graph_file_cure(const std::vector<int>& ring) {
  return fmt::format(
      "NCCL_GRAPH_FILE with the ring {} (--nccl-graph writes the file) makes NCCL take the shorter "
      "way",
      fmt::join(ring, " "));
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  if (staging_of(evidence) || connections_via(evidence, "P2P") == 0) return {};
  const auto classes = classes_of(gpu_pairs(evidence));
  if (classes.empty()) return {};
  for (const auto& log : evidence.all<NcclLog>()) {
    const auto gpus = gpus_of_ranks(evidence, *log.facts);
    for (const auto& [channel, ranks] : log->rings) {
      if (!gpus || !is_permutation_of_gpus(ranks, evidence)) continue;
      std::vector<int> ring;
      for (const int rank : ranks) ring.push_back(gpus->at(static_cast<std::size_t>(rank)));
      const auto better = nearest_next(classes, ring);
      const int now = crossings(classes, ring), least = crossings(classes, better);
      if (now < 2 * least || least == 0) continue;
      Diagnosis found;
      found.certainty = Certainty::certain;
      found.why = fmt::format(
          "the ring over GPUs {} leaves a switch {} times, {} would do: each time more takes a "
          "share "
          "of the same uplinks",
          fmt::join(ring, " "), now, least);
      found.shown = evidence.lines(
          *log.reading,
          [](std::string_view line) {
            return line.find("Channel 0") != std::string_view::npos &&
                   line.find("->") == std::string_view::npos;
          },
          2);
      for (const auto& matrix : evidence.all<LinkMatrix>())
        add_lines(found.shown, evidence.rows_of(*matrix.reading, matrix->names));
      found.mend.ring_as_is = ring;
      found.mend.ring_order = better;
      const auto setting = setting_of_rings(evidence);
      if (setting) found.shown.insert(found.shown.begin(), setting->line);
      found.fix = setting ? fmt::format("take {} away: it makes this ring. {}", setting->value,
                                        graph_file_cure(better))
                          : graph_file_cure(better);
      found.slowdown = static_cast<double>(now) / least;
      return {std::move(found)};
    }
  }
  return {};
}

}  // namespace

Rule ring_order_rule() {
  return {.id = "D42",
          .title = "The ring leaves the switches more often than it must",
          .source = "counted from NCCL's log and the machine's tree; compare NVIDIA/nccl#1127",
          .inputs = {Input::nccl_log, Input::topology_matrix},
          .find = find};
}

}  // namespace ringside
