// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/rules/nvlink_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/topology/gpu_places.hpp"
#include "ringside/topology/model/identify.hpp"
#include "ringside/topology/model/link_model.hpp"
#include "ringside/topology/path.hpp"

namespace ringside {
namespace {

constexpr std::size_t most_gpus = 16;  // of a box; 2^15 sets of GPUs are quickly looked at

bool has_nvlink(const Topology& topology) {
  return std::ranges::any_of(topology.links(),
                             [](const Link& link) { return link.kind == LinkKind::nvlink; });
}

}  // namespace

NvlinkGraph::NvlinkGraph(const Topology& topology) {
  const auto gpus = topology.gpus();
  links_.assign(gpus.size(), std::vector<int>(gpus.size(), 0));
  if (gpus.size() > most_gpus || !has_nvlink(topology)) return;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (std::size_t j = i + 1; j < gpus.size(); ++j)
      if (const auto pair = link_class(topology, gpus[i], gpus[j]); pair.value == LinkClass::nvlink)
        links_[i][j] = links_[j][i] = std::max(pair.count.value_or(1), 1);
}

bool NvlinkGraph::has_links() const {
  return std::ranges::any_of(links_, [](const auto& row) {
    return std::ranges::any_of(row, [](int count) { return count > 0; });
  });
}

/// Ends of all ways from the first GPU through a set of them: Held and Karp's recurrence.
bool NvlinkGraph::has_ring(std::span<const int> gpus, int least) const {
  const auto n = gpus.size();
  const auto joined = [&](std::size_t a, std::size_t b) {
    return links(gpus[a], gpus[b]) >= least;
  };
  std::vector<std::uint32_t> ends(std::size_t{1} << n, 0);
  ends[1] = 1;
  for (std::size_t set = 1; set < ends.size(); set += 2)
    for (std::size_t last = 0; last < n; ++last) {
      if ((ends[set] >> last & 1U) == 0) continue;
      for (std::size_t next = 1; next < n; ++next)
        if ((set >> next & 1U) == 0 && joined(last, next))
          ends[set | std::size_t{1} << next] |= 1U << next;
    }
  for (std::size_t last = 1; last < n; ++last)
    if ((ends.back() >> last & 1U) != 0 && joined(last, 0)) return true;
  return false;
}

int NvlinkGraph::best_ring(std::span<const int> gpus) const {
  if (gpus.size() < 2 || gpus.size() > most_gpus) return 0;
  if (gpus.size() == 2) return links(gpus[0], gpus[1]);
  std::set<int, std::greater<>> counts;
  for (const int first : gpus)
    for (const int second : gpus) counts.insert(links(first, second));
  for (const int count : counts)
    if (count > 0 && has_ring(gpus, count)) return count;
  return 0;
}

bool rings_stay_in_nvlink(const Evidence& evidence) {
  const auto* topology = evidence.topology();
  if (topology == nullptr || topology->gpus().size() < 2) return false;
  const NvlinkGraph graph(*topology);
  std::vector<int> all(static_cast<std::size_t>(graph.gpus()));
  std::iota(all.begin(), all.end(), 0);
  return graph.has_links() && graph.best_ring(all) > 0;
}

std::vector<int> NvlinkGraph::best_set(int wanted) const {
  std::vector<int> best;
  int most = -1;
  std::vector<char> taken(links_.size(), 0);  // not bool: its references cannot be swapped
  std::fill_n(taken.begin(), std::min<std::size_t>(static_cast<std::size_t>(wanted), taken.size()),
              1);
  do {
    std::vector<int> set;
    for (int gpu = 0; gpu < gpus(); ++gpu)
      if (taken[static_cast<std::size_t>(gpu)] != 0) set.push_back(gpu);
    if (const int ring = best_ring(set); ring > most) {
      most = ring;
      best = std::move(set);
    }
  } while (std::prev_permutation(taken.begin(), taken.end()));
  return best;
}

std::vector<std::vector<int>> NvlinkGraph::groups() const {
  std::vector<std::vector<int>> groups;
  std::vector<bool> seen(links_.size(), false);
  for (int first = 0; first < gpus(); ++first) {
    if (seen[static_cast<std::size_t>(first)]) continue;
    seen[static_cast<std::size_t>(first)] = true;
    std::vector<int> group = {first};
    for (std::size_t at = 0; at < group.size(); ++at)
      for (int next = 0; next < gpus(); ++next)
        if (!seen[static_cast<std::size_t>(next)] && links(group[at], next) > 0) {
          seen[static_cast<std::size_t>(next)] = true;
          group.push_back(next);
        }
    std::ranges::sort(group);
    groups.push_back(std::move(group));
  }
  return groups;
}

std::optional<double> nvlink_nominal(const Topology& topology) {
  for (const auto& link : topology.links()) {
    if (link.kind != LinkKind::nvlink) continue;
    if (link.bandwidth && link.count && *link.count > 0) return *link.bandwidth / *link.count;
    const auto* figure =
        link_model_for(topology).model->find(nvlink_kind_of(topology, link) + ".nominal");
    return figure == nullptr ? std::nullopt : std::optional(figure->value);
  }
  return std::nullopt;
}

std::vector<int> numbers_at(const Topology& topology, std::span<const int> places) {
  const auto gpus = topology.gpus();
  std::vector<int> numbers;
  for (const int place : places) {
    const auto at = static_cast<std::size_t>(place);
    numbers.push_back(gpu_number(topology, gpus.at(at), at));
  }
  return numbers;
}

std::string gpu_names(const Topology& topology, std::span<const int> places) {
  std::vector<std::string> names;
  for (const int place : places)
    names.push_back(topology.node(topology.gpus().at(static_cast<std::size_t>(place))).name);
  return join(names, ", ");
}

std::string gpu_numbers(const Topology& topology, std::span<const int> places,
                        std::string_view separator) {
  std::vector<std::string> numbers;
  for (const int number : numbers_at(topology, places)) numbers.push_back(std::to_string(number));
  return join(numbers, separator);
}

}  // namespace ringside
