// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/rules/tables.hpp"

#include <algorithm>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/topology/gpu_places.hpp"

namespace ringside {
namespace {

int hosts_of_logs(const Evidence& evidence) {
  int most = 0;
  for (const auto& log : evidence.all<NcclLog>())
    most = std::max({most, static_cast<int>(log->hosts.size()), log->boxes.value_or(0)});
  return most;
}

}  // namespace

bool is_of_nccl(const CollectiveRows& table) {
  return !table.ours || table.algorithm.value_or("") == "nccl";
}

bool goes_in_rings(const CollectiveRows& table) {
  return table.collective == "all_reduce" || table.collective == "reduce_scatter" ||
         table.collective == "all_gather";
}

std::optional<std::vector<int>> visible_gpus(const Evidence& evidence) {
  const auto* topology = evidence.topology();
  const auto visible = evidence.environment("CUDA_VISIBLE_DEVICES");
  if (topology == nullptr || !visible) return std::nullopt;
  std::vector<int> numbers;
  for (const auto word : split(visible->value, ',')) {
    const auto number = parse_int(trim(word), 0, 1023);
    if (!number) return std::nullopt;
    numbers.push_back(static_cast<int>(*number));
  }
  auto places = gpu_places(*topology, numbers);
  const std::set<int> different(places.begin(), places.end());
  if (different.size() != numbers.size()) return std::nullopt;  // one twice, or not there
  return places;
}

std::vector<int> gpus_of(const Evidence& evidence, const CollectiveRows& table) {
  const auto* topology = evidence.topology();
  const int ranks = table.ranks.value_or(0);
  if (topology == nullptr || ranks < 1 || ranks > static_cast<int>(topology->gpus().size()))
    return {};
  if (hosts_of(table) > 1) return {};
  std::vector<int> all;
  const auto visible = visible_gpus(evidence);
  if (visible) all = *visible;
  for (int place = 0; !visible && place < static_cast<int>(topology->gpus().size()); ++place)
    all.push_back(place);
  std::vector<int> group;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto listed = std::ranges::find(table.listed, rank, &ListedRank::rank);
    const int device = listed != table.listed.end() && listed->device ? *listed->device : rank;
    if (device >= static_cast<int>(all.size())) return {};
    const int gpu = all[static_cast<std::size_t>(device)];
    if (std::ranges::find(group, gpu) != group.end()) return {};
    group.push_back(gpu);
  }
  return group;
}

int hosts_of(const CollectiveRows& table) {
  std::set<std::string> hosts;
  for (const auto& rank : table.listed) hosts.insert(rank.host);
  return static_cast<int>(hosts.size());
}

int hosts_of(const Evidence& evidence) {
  int most = hosts_of_logs(evidence);
  for (const auto& table : evidence.all<CollectiveRows>())
    most = std::max(most, hosts_of(*table.facts));
  return most;
}

std::vector<Found<CollectiveRows>> tables_of_one_host(const Evidence& evidence) {
  auto tables = evidence.all<CollectiveRows>();
  const bool several_in_logs = hosts_of_logs(evidence) > 1;
  std::erase_if(tables, [&](const Found<CollectiveRows>& table) {
    const int hosts = hosts_of(*table.facts);
    return hosts > 1 || (hosts == 0 && several_in_logs);
  });
  return tables;
}

bool has_worked(const Evidence& evidence) {
  return std::ranges::any_of(evidence.all<CollectiveRows>(), [](const auto& table) {
    return is_of_nccl(*table.facts) && table->ranks.value_or(0) > 1 && !table->truncated &&
           !table->rows.empty();
  });
}

ShownLine line_of_size(const Evidence& evidence, const Found<CollectiveRows>& table,
                       std::uint64_t size) {
  const auto wanted = std::to_string(size);
  const auto lines = evidence.lines(
      *table.reading,
      [&](std::string_view line) {
        const auto words = split_blanks(line);
        return !words.empty() && words.front() == wanted;
      },
      1);
  return lines.empty() ? ShownLine{} : lines.front();
}

std::optional<CollectiveTiming> timing_of(const CollectiveRow& row) {
  return row.out_of_place ? row.out_of_place : row.in_place;
}

}  // namespace ringside
