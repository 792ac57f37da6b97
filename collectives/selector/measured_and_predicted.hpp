// SPDX-License-Identifier: MIT
/// What was measured on a machine beside what the twin predicts for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/measurements.hpp"
#include "ringside/topology/model/what_if.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {

struct Compared {
  std::string what;     ///< "copy 0 -> 1", "all_reduce of 64M on 8, ring"
  double measured = 0;  ///< GB/s
  double predicted = 0;
  bool collective = false;
  std::vector<int> gpus = {};  ///< that took part, by their places; one where the other is the host

  [[nodiscard]] double ratio() const { return measured / predicted; }
};

/// Copies one by one; of every table of a collective the row that comes nearest to what is
/// predicted: small messages say little of links. Empty where there is nothing to compare, or the
/// twin has no figures for the machine.
[[nodiscard]] std::vector<Compared> compare_measured(const MachineDescription& machine,
                                                     const Measurements& measured,
                                                     const std::vector<Reading>& readings);

/// Why nothing of what was measured can be compared: one line.
[[nodiscard]] std::string why_not_compared(const MachineDescription& machine,
                                           const Measurements& measured,
                                           const std::vector<Reading>& readings);

/// Whether it tells of the machine as a whole: a collective of all GPUs, or copies between all
/// pairs.
[[nodiscard]] bool covers(const std::vector<Compared>& compared, int gpus);

/// The one that is farthest below what is predicted; nothing where nothing was compared.
[[nodiscard]] std::optional<Compared> worst_of(const std::vector<Compared>& compared);

/// An all-reduce of `bytes` on so many GPUs at the rate of the row of the nearest size in NCCL's
/// tables: seconds. Nothing where no row is within 8 times the size, or large enough for its rate
/// to be that of all larger messages.
[[nodiscard]] std::optional<double> measured_all_reduce_seconds(
    const std::vector<Reading>& readings, int gpus, double bytes);

}  // namespace ringside
