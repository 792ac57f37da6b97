// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/simulate_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "ringside/base/file.hpp"
#include "ringside/base/statistics.hpp"
#include "ringside/collectives/executors/simulated/fit_machine.hpp"
#include "ringside/tools/cli/output.hpp"
#include "ringside/topology/load.hpp"

namespace ringside::cli {
namespace {

double median_error(const std::vector<FitPoint>& points, const std::vector<double>& predicted) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < points.size(); ++i)
    errors.push_back(std::abs(predicted[i] / points[i].measured - 1));
  return median(errors);
}

double percent(double predicted, double measured) { return 100 * (predicted / measured - 1); }

std::string report(const FittedMachine& fitted, const FitPoints& found) {
  std::string text = fmt::format("fitted figures ({} measurements)\n", found.points.size());
  for (std::size_t k = 0; k < fitted.figures.size(); ++k) {
    const Figure* figure = fitted.model.find(fitted.figures[k].name);
    const bool at_bound = fitted.values[k] <= fitted.figures[k].least * (1 + 1e-9) ||
                          fitted.values[k] >= fitted.figures[k].most * (1 - 1e-9);
    text += fmt::format("  {:32} {:>9.4g} {:5} before {:>9.4g}{}\n", figure->name, figure->value,
                        figure->unit == "1" ? "" : figure->unit, fitted.figures[k].prior,
                        at_bound ? "  (at its bound)" : "");
  }
  text += fmt::format("\n  {:40} {:>9} {:>9} {:>8} {:>9} {:>8}   GB/s\n", "", "measured",
                      "simulated", "error", "fitted", "error");
  for (std::size_t i = 0; i < found.points.size(); ++i) {
    const auto& point = found.points[i];
    text += fmt::format("  {:40} {:>9.2f} {:>9.2f} {:>+7.1f}% {:>9.2f} {:>+7.1f}%\n", point.what,
                        point.measured, fitted.before[i], percent(fitted.before[i], point.measured),
                        fitted.after[i], percent(fitted.after[i], point.measured));
  }
  text += fmt::format("\nmedian error: {:.1f} % before, {:.1f} % fitted\n",
                      100 * median_error(found.points, fitted.before),
                      100 * median_error(found.points, fitted.after));
  for (const auto& what : found.left_out) text += fmt::format("not used: {}\n", what);
  return text;
}

}  // namespace

void add_fit_options(CLI::App& command, FitArguments& arguments) {
  command
      .add_option("--fit", arguments.files,
                  "Fit the link model's figures to what these files tell: output of nccl-tests, "
                  "p2pBandwidthLatencyTest, nvbandwidth, ringside bench --preflight")
      ->type_name("FILE");
  command
      .add_option("--save-model", arguments.model_file,
                  "With --fit: write the fitted link model, for --model")
      ->type_name("FILE");
}

void run_fit(const MachineArguments& machine, const FitArguments& arguments) {
  const auto chosen = chosen_machine(machine);
  const MachineDescription description{.topology = chosen.machine.topology(),
                                       .model = chosen.machine.model(),
                                       .settings = chosen.machine.settings()};
  const auto loaded = load_topology(arguments.files);
  const auto found = fit_points(description, loaded.measured, loaded.readings);
  auto fitted =
      fit_machine(description, found.points, fmt::format("{}", fmt::join(arguments.files, ", ")));
  print(machine_heading(chosen) + report(fitted, found));
  if (arguments.model_file.empty()) return;
  fitted.model.summary =
      fmt::format("{}, fitted to {} measurements", description.model.name, found.points.size());
  fitted.model.name += "-fitted";
  write_file(arguments.model_file, link_model_to_json(fitted.model));
}

}  // namespace ringside::cli
