// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/measured_and_predicted.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/simulated/fit_machine.hpp"

namespace ringside {
namespace {

/// Larger tables repeat themselves, and every point is a simulation.
constexpr std::size_t most_points = 400;

/// Of a table's rows the largest few messages, where links count most.
void keep_large_messages(std::vector<FitPoint>& points) {
  constexpr double far_smaller = 8;
  std::map<std::size_t, double> largest;  // by the number of ranks
  for (const auto& point : points)
    if (point.call) {
      auto& most = largest[point.call->gpus.size()];
      most = std::max(most, point.call->bytes);
    }
  std::erase_if(points, [&](const FitPoint& point) {
    return point.call && point.call->bytes * far_smaller < largest[point.call->gpus.size()];
  });
  if (points.size() > most_points) points.resize(most_points);
}

std::vector<int> gpus_in(const FitPoint& point) {
  if (point.call) return point.call->gpus;
  std::set<int> gpus;
  for (const auto& transfer : point.transfers)
    for (const auto& place : {transfer.from, transfer.to})
      if (!place.host) gpus.insert(place.gpu);
  return {gpus.begin(), gpus.end()};
}

}  // namespace

std::vector<Compared> compare_measured(const MachineDescription& machine,
                                       const Measurements& measured,
                                       const std::vector<Reading>& readings) try {
  auto points = fit_points(machine, measured, readings).points;
  std::erase_if(points, [](const FitPoint& point) { return !(point.measured > 0); });
  keep_large_messages(points);
  const auto predicted = predicted_points(machine, points);
  std::vector<Compared> compared;
  std::map<std::string, std::size_t> tables;  // by collective and ranks -> its row in `compared`
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!(predicted[i] > 0)) continue;
    Compared each{.what = points[i].what,
                  .measured = points[i].measured,
                  .predicted = predicted[i],
                  .collective = points[i].call.has_value(),
                  .gpus = gpus_in(points[i])};
    if (!points[i].call) {
      compared.push_back(std::move(each));
      continue;
    }
    const auto key = std::string(to_string(points[i].call->collective)) +
                     std::to_string(points[i].call->gpus.size());
    const auto [at, added] = tables.emplace(key, compared.size());
    if (added)
      compared.push_back(std::move(each));
    else if (each.ratio() > compared[at->second].ratio())
      compared[at->second] = std::move(each);
  }
  return compared;
} catch (const Error&) {
  return {};
}

std::string why_not_compared(const MachineDescription& machine, const Measurements& measured,
                             const std::vector<Reading>& readings) try {
  const auto found = fit_points(machine, measured, readings);
  (void)predicted_points(machine, found.points);
  if (found.left_out.empty()) return "the twin predicts nothing for it";
  return fmt::format("the twin does not repeat {}", fmt::join(found.left_out, "; "));
} catch (const Error& error) {
  return fmt::format("the twin cannot predict it: {}", error.what());
}

bool covers(const std::vector<Compared>& compared, int gpus) {
  std::set<std::vector<int>> pairs;
  for (const auto& each : compared) {
    if (each.collective && static_cast<int>(each.gpus.size()) == gpus) return true;
    if (!each.collective && each.gpus.size() == 2) pairs.insert(each.gpus);
  }
  return !pairs.empty() && static_cast<int>(pairs.size()) == gpus * (gpus - 1) / 2;
}

std::optional<double> measured_all_reduce_seconds(const std::vector<Reading>& readings, int gpus,
                                                  double bytes) {
  constexpr double too_far = 8;
  constexpr double steady = 32 << 20;  // from here on the tables of the corpus are flat
  double nearest = 1e300;
  std::optional<double> seconds;
  for (const auto& reading : readings) {
    const auto* table = std::get_if<CollectiveRows>(&reading.facts);
    if (table == nullptr || table->ours || table->ranks != gpus ||
        table->collective.value_or("all_reduce") != "all_reduce")
      continue;
    for (const auto& row : table->rows) {
      const auto& timing = row.out_of_place ? row.out_of_place : row.in_place;
      const auto size = static_cast<double>(row.size);
      const double distance = size > bytes ? size / bytes : bytes / std::max(size, 1.0);
      const bool tells = distance < too_far || (size >= steady && bytes >= steady);
      if (!timing || !(timing->algbw > 0) || !tells || distance >= nearest) continue;
      nearest = distance;
      seconds = bytes / (timing->algbw * 1e9);
    }
  }
  return seconds;
}

std::optional<Compared> worst_of(const std::vector<Compared>& compared) {
  if (compared.empty()) return std::nullopt;
  return *std::ranges::min_element(compared, {}, &Compared::ratio);
}

}  // namespace ringside
