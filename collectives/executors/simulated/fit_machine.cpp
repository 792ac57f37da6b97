// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/fit_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside {
namespace {

constexpr double giga = 1e9;
/// A free figure may become so many times larger or smaller.
constexpr double range = 4;
/// How far a figure is moved to see what depends on it, and what is no dependence.
constexpr double probe = 1.1, least_effect = 1e-3;

/// What may be fitted: how fast things are, not what they are called for.
bool may_be_free(const Figure& figure) {
  constexpr std::array<std::string_view, 14> beginnings = {"pcie1.",
                                                           "pcie2.",
                                                           "pcie3.",
                                                           "pcie4.",
                                                           "pcie5.",
                                                           "pcie6.",
                                                           "pcie.",
                                                           "root.memory",
                                                           "root.peer",
                                                           "socket.",
                                                           "nvlink",
                                                           "xgmi.",
                                                           "network.efficiency",
                                                           "nccl."};
  if (figure.name == "staging.driver" || figure.name == "staging.driver.pcie3" ||
      figure.name == "dram.bandwidth")
    return true;
  if (figure.name == "pcie.peer_access" || figure.name.ends_with(".nominal")) return false;
  return std::ranges::any_of(
      beginnings, [&](std::string_view beginning) { return figure.name.starts_with(beginning); });
}

/// Standard deviation of a figure's logarithm.
double doubt_of(Confidence confidence) {
  switch (confidence) {
    case Confidence::measured:
      return 0.15;
    case Confidence::stated:
    case Confidence::fitted:
      return 0.25;
    case Confidence::assumed:
      break;
  }
  return 0.5;
}

FreeFigure free(const Figure& figure) {
  const bool is_ratio = figure.unit == "1";
  return {.name = figure.name,
          .prior = figure.value,
          .doubt = doubt_of(figure.confidence),
          .least = figure.value / range,
          .most = is_ratio ? std::max(1.0, figure.value) : figure.value * range};
}

MachineDescription with_value(MachineDescription machine, const std::string& name, double value) {
  Figure figure = *machine.model.find(name);
  figure.value = value;
  machine.model.set(std::move(figure));
  return machine;
}

Machine made(MachineDescription machine) {
  return Machine(std::move(machine.topology), std::move(machine.model), machine.settings);
}

std::vector<double> log_errors(const std::vector<FitPoint>& points,
                               const std::vector<double>& predicted) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < points.size(); ++i)
    errors.push_back(std::log(predicted[i] / points[i].measured));
  return errors;
}

/// How much all predictions together move when a figure does.
double effect_of(const MachineDescription& machine, const std::vector<FitPoint>& points,
                 const Figure& figure, const std::vector<double>& before) {
  double most = 0;
  for (const double factor : {probe, 1 / probe}) {
    const FreeFigure bounds = free(figure);
    const double value = std::clamp(figure.value * factor, bounds.least, bounds.most);
    if (value == figure.value) continue;
    const auto after = predicted_points(with_value(machine, figure.name, value), points);
    double sum = 0;
    for (std::size_t i = 0; i < points.size(); ++i) sum += std::abs(std::log(after[i] / before[i]));
    most = std::max(most, sum / std::log(probe));
  }
  return most;
}

}  // namespace

std::vector<double> predicted_points(const MachineDescription& machine,
                                     const std::vector<FitPoint>& points) {
  MachineDescription staged = machine;
  staged.settings.peer_access = false;
  const Machine with = made(machine), without = made(std::move(staged)),
                nccl = as_nccl_uses(machine);
  std::vector<double> predicted;
  for (const auto& point : points) {
    if (point.call)
      predicted.push_back(point.call->bytes / nccl_seconds(nccl, *point.call) / giga);
    else
      predicted.push_back(transfer_rate(point.peer_access ? with : without, point.transfers));
  }
  return predicted;
}

std::vector<FreeFigure> free_figures(const MachineDescription& machine,
                                     const std::vector<FitPoint>& points, std::size_t most) {
  const auto before = predicted_points(machine, points);
  std::vector<std::pair<double, const Figure*>> candidates;
  for (const auto& figure : machine.model.figures) {
    if (!may_be_free(figure) || !(figure.value > 0)) continue;
    const double effect = effect_of(machine, points, figure, before);
    if (effect > least_effect) candidates.emplace_back(effect, &figure);
  }
  std::ranges::stable_sort(candidates, std::ranges::greater{},
                           [](const auto& candidate) { return candidate.first; });
  std::vector<FreeFigure> figures;
  for (const auto& [effect, figure] : candidates)
    if (figures.size() < most) figures.push_back(free(*figure));
  return figures;
}

FittedMachine fit_machine(const MachineDescription& machine, const std::vector<FitPoint>& points,
                          const std::string& source) {
  if (points.empty()) throw Error(ErrorCode::bad_input, "no measurements that the twin can repeat");
  FittedMachine result{.figures = free_figures(machine, points),
                       .values = {},
                       .before = predicted_points(machine, points),
                       .after = {},
                       .model = machine.model};
  if (result.figures.empty())
    throw Error(ErrorCode::bad_input, "the measurements depend on none of the figures");
  const auto at = [&](const std::vector<double>& values) {
    MachineDescription changed = machine;
    changed.model = with_fitted(std::move(changed.model), result.figures, values, source);
    return changed;
  };
  const Fit fit = fit_figures(result.figures, [&](const std::vector<double>& values) {
    return log_errors(points, predicted_points(at(values), points));
  });
  result.values = fit.values;
  result.model = at(fit.values).model;
  result.after = predicted_points(at(fit.values), points);
  return result;
}

}  // namespace ringside
