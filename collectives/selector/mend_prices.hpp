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

namespace ringside {

struct MendPrice {
  double as_is = 0, mended = 0;  ///< seconds
  std::string mended_by;         ///< a spec, where the cure is another algorithm
  int gpus = 0;                  ///< that take part
};

struct MendPrices {
  /// One for each finding; nothing where the twin has no price for it.
  std::vector<std::optional<MendPrice>> each;
  std::optional<MendPrice> together;  ///< with all that are certain or likely mended
  std::string why_none;               ///< where there is no price at all
};

/// `bytes`: of a rank's buffer. The machine as it is has what all certain and likely findings say
/// of it; a merely possible one is priced as if it were true.
[[nodiscard]] MendPrices price_mends(const Topology& topology, std::span<const Diagnosis> diagnoses,
                                     double bytes);

/// The machine as these findings say that it is: words of all that are not merely possible.
[[nodiscard]] MachineDescription machine_as_found(const Topology& topology,
                                                  std::span<const Diagnosis> diagnoses);
/// Without what is wrong with it.
[[nodiscard]] MachineDescription machine_mended(const Topology& topology,
                                                std::span<const Diagnosis> diagnoses);

}  // namespace ringside
