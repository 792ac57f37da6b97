// SPDX-License-Identifier: MIT
/// Fitting a link model to what was measured on a machine: copies between its GPUs and collectives
/// of NCCL's, which the twin simulates as they were run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/executors/simulated/nccl_run.hpp"
#include "ringside/topology/measurements.hpp"
#include "ringside/topology/model/fit.hpp"
#include "ringside/topology/model/transfers.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {

/// A measurement that the twin can repeat. Either `transfers` or `call`.
struct FitPoint {
  std::string what;     ///< "copy 0 -> 1", "all_reduce of 64M on 8"
  double measured = 0;  ///< GB/s: of all transfers together; of a call's bytes by its time
  std::vector<Transfer> transfers;
  bool peer_access = true;
  std::optional<NcclCall> call;
};

/// The points among measurements and tables of collectives, and a line for each kind that is left
/// out with the reason (latencies, copies within a GPU, calls of less than 1 MiB, ...).
struct FitPoints {
  std::vector<FitPoint> points;
  std::vector<std::string> left_out;
};
[[nodiscard]] FitPoints fit_points(const MachineDescription& machine, const Measurements& measured,
                                   const std::vector<Reading>& readings);

/// GB/s, simulated.
[[nodiscard]] std::vector<double> predicted_points(const MachineDescription& machine,
                                                   const std::vector<FitPoint>& points);

/// The figures that the points depend on most: at most `most` of them, bandwidths and the like,
/// with the model's values as priors; the surer a figure is, the less it moves.
[[nodiscard]] std::vector<FreeFigure> free_figures(const MachineDescription& machine,
                                                   const std::vector<FitPoint>& points,
                                                   std::size_t most = 6);

struct FittedMachine {
  std::vector<FreeFigure> figures;
  std::vector<double> values;         ///< of the figures
  std::vector<double> before, after;  ///< of the points, GB/s
  LinkModel model;
};
/// Throws Error(bad_input) where there is nothing to fit to.
[[nodiscard]] FittedMachine fit_machine(const MachineDescription& machine,
                                        const std::vector<FitPoint>& points,
                                        const std::string& source);

}  // namespace ringside
