// SPDX-License-Identifier: MIT
/// What `ringside simulate` found out, and how it is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/executors/simulated/path_shares.hpp"
#include "ringside/collectives/executors/simulated/simulate.hpp"
#include "ringside/collectives/reduction/types.hpp"
#include "ringside/tools/cli/machine_options.hpp"

namespace ringside::cli {

/// An algorithm at a size.
struct SimulatedRow {
  std::string spec;
  std::uint64_t bytes = 0;  ///< of the longest buffer of a rank
  std::uint64_t asked = 0;  ///< the size on the command line
  double seconds = 0;
  double least = 0, most = 0;  ///< where only a range can be given; else both 0
  double algorithm_bandwidth = 0, bus_bandwidth = 0;  ///< GB/s
  double bound = 0;                                   ///< seconds that no plan can beat
  std::uint64_t ops = 0;
  PathShares shares;
  std::vector<CriticalPiece> critical_path;  ///< where wanted
  std::vector<ResourceUsage> resources;      ///< where wanted

  [[nodiscard]] bool is_range() const { return most > 0; }
};

struct SimulationReport {
  const ChosenMachine* machine = nullptr;
  Request request;
  ElementType type = ElementType::float32;
  std::vector<int> gpus;                   ///< of each rank
  std::string bound_reason, bound_caveat;  ///< of the tightest
  std::vector<SimulatedRow> rows;
  std::vector<std::string> skipped;  ///< "NAME: why not"
  std::vector<std::string> notes;    ///< what is to be said of plans or of all, one line each
};

/// For people: a table by size, the fastest first; links and critical paths of the rows that have
/// them.
[[nodiscard]] std::string report_text(const SimulationReport& report);
[[nodiscard]] std::string report_json(const SimulationReport& report);
/// A line per row, columns named in the first.
[[nodiscard]] std::string report_csv(const SimulationReport& report);

/// What a row's time is mostly spent on: "GPU3 -> switch1 (93 %)", "overheads (60 %)".
[[nodiscard]] std::string limit_of(const SimulatedRow& row, const Machine& machine);

}  // namespace ringside::cli
