// SPDX-License-Identifier: MIT
/// What findings about a machine cost: an all-reduce as NCCL runs it on the machine as it is, and
/// on the machine that a finding says it ought to be. All times are predicted by the twin.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ringside/topology/diagnose/diagnosis.hpp"
#include "ringside/topology/graph.hpp"
#include "ringside/topology/model/what_if.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {

struct MendPrice {
  double as_is = 0, mended = 0;               ///< seconds, predicted
  std::optional<double> as_is_measured = {};  ///< seconds, where a table has the rate
  std::string mended_by = {};                 ///< a spec, where the cure is another algorithm
  int gpus = 0;                               ///< that take part when mended
  int gpus_as_is = 0;                         ///< that take part now

  /// How many times as long the call takes now as mended.
  [[nodiscard]] double slowdown() const { return as_is_measured.value_or(as_is) / mended; }
};

struct MendPrices {
  /// One for each finding; nothing where the twin has no price for it.
  std::vector<std::optional<MendPrice>> each;
  std::optional<MendPrice> together;  ///< with all that are certain or likely mended
  std::string why_none;               ///< where there is no price at all

  [[nodiscard]] bool any() const {
    for (const auto& price : each)
      if (price) return true;
    return false;
  }
};

/// `bytes`: of a rank's buffer. The machine as it is has what all certain and likely findings say
/// of it; a merely possible one is priced as if it were true.
[[nodiscard]] MendPrices price_mends(const Topology& topology, std::span<const Diagnosis> diagnoses,
                                     double bytes);

/// Notes what an all-reduce takes now by the rates in NCCL's tables.
void add_measured(MendPrices& prices, const std::vector<Reading>& readings, double bytes);

/// Takes away prices of cures that the twin sees no gain in, and calls what costs nothing a risk.
void drop_without_gain(std::vector<Diagnosis>& diagnoses, MendPrices& prices);

/// Worst first, as diagnose() orders them, but by what they cost where that has a price.
void rank_by_cost(std::vector<Diagnosis>& diagnoses, MendPrices& prices);

/// The machine as these findings say that it is: words of all that are not merely possible.
[[nodiscard]] MachineDescription machine_as_found(const Topology& topology,
                                                  std::span<const Diagnosis> diagnoses);
/// Without what is wrong with it.
[[nodiscard]] MachineDescription machine_mended(const Topology& topology,
                                                std::span<const Diagnosis> diagnoses);

}  // namespace ringside
