// SPDX-License-Identifier: MIT
/// What `ringside choose` prints, from a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/reduction/types.hpp"
#include "ringside/collectives/selector/nccl_comparison.hpp"
#include "ringside/collectives/selector/predicted_choice.hpp"
#include "ringside/tools/cli/machine_options.hpp"

namespace ringside::cli {

/// The choice at one size.
struct ChosenRow {
  std::uint64_t bytes = 0;  ///< of a rank's longest buffer
  PredictedChoice choice;
  double algorithm_bandwidth = 0, bus_bandwidth = 0;  ///< GB/s
  std::optional<NcclComparison> nccl;
};

struct ChoiceReport {
  const ChosenMachine* machine = nullptr;
  Request request;
  std::vector<int> gpus;
  ElementType type = ElementType::float32;
  bool all = false;  ///< also tells what cannot serve the request
  std::vector<ChosenRow> rows;
};

/// One size in full; several as a table, each with its choice, then where the choice changes.
[[nodiscard]] std::string choice_text(const ChoiceReport& report);
[[nodiscard]] std::string choice_json(const ChoiceReport& report);

}  // namespace ringside::cli
