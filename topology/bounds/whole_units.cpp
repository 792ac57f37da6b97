// SPDX-License-Identifier: MIT
#include "ringside/topology/bounds/whole_units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

constexpr double tolerance = 1e-6;
constexpr double finest_part = 1e-6;
constexpr int most_parts = 4096;

/// Positive and finite, each once, ascending.
std::vector<double> distinct_capacities(const CapacityGraph& graph) {
  std::vector<double> values;
  for (const auto& arc : graph.arcs) {
    if (!(arc.capacity >= 0))
      throw Error(ErrorCode::bad_input,
                  fmt::format("{}: {} is no capacity", arc.name, arc.capacity));
    if (arc.capacity > 0 && std::isfinite(arc.capacity)) values.push_back(arc.capacity);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

double greatest_unit(const std::vector<double>& values) {
  const auto all_whole_in = [&](double unit) {
    return std::all_of(values.begin(), values.end(), [&](double value) {
      const double units = value / unit;
      return units >= 0.5 && std::abs(units - std::round(units)) <= tolerance * units;
    });
  };
  for (const double unit : {1e9, 1e8, 1e7, 1e6})
    if (all_whole_in(unit)) return unit;
  for (int parts = 1; parts <= most_parts; ++parts)
    if (all_whole_in(values.front() / parts)) return values.front() / parts;
  return values.front() * finest_part;
}

/// The unit in which all units of all arcs, times the ranks, stay below what cuts are compared in.
double least_unit(const CapacityGraph& graph) {
  constexpr double most_units = 0x1p60;
  double sum = 0;
  double infinite = 0;
  for (const auto& arc : graph.arcs)
    if (std::isfinite(arc.capacity))
      sum += arc.capacity;
    else
      ++infinite;
  return sum * (1 + infinite) * static_cast<double>(graph.compute.size()) / most_units;
}

}  // namespace

WholeUnits whole_units(const CapacityGraph& graph) {
  const auto values = distinct_capacities(graph);
  WholeUnits whole;
  whole.unit = values.empty() ? 1 : std::max(greatest_unit(values), least_unit(graph));
  std::int64_t sum = 0;
  for (const auto& arc : graph.arcs) {
    const bool finite = std::isfinite(arc.capacity);
    whole.units.push_back(finite ? std::llround(arc.capacity / whole.unit) : 0);
    sum += whole.units.back();
  }
  for (std::size_t i = 0; i < graph.arcs.size(); ++i)
    if (!std::isfinite(graph.arcs[i].capacity)) whole.units[i] = std::max<std::int64_t>(sum, 1);
  return whole;
}

}  // namespace ringside
