// SPDX-License-Identifier: MIT
/// Random cases for the flow engine: resources, and flows that wait for others.
#pragma once

#include <cstdint>
#include <vector>

#include "ringside/topology/network/flow_engine.hpp"

namespace ringside::tests {

struct CaseFlow {
  std::vector<Use> uses;
  double bytes = 0;
  double delay = 0;        ///< after all that it waits for
  std::vector<int> after;  ///< flows before this one
};

struct Case {
  std::vector<Resource> resources;
  std::vector<CaseFlow> flows;
};

struct CaseLimits {
  int resources = 12;
  int flows = 40;
  bool whole_weights = false;  ///< 1 and 2 only
  bool curves = true;          ///< resources with efficiencies
  /// Capacities that differ by about what the engine takes for rounding.
  bool near_ties = false;
};

[[nodiscard]] Case random_case(std::uint64_t seed, const CaseLimits& limits);

/// When each flow ends.
[[nodiscard]] std::vector<double> times_of_engine(const Case& wanted);

/// The same by the definition: rates worked out from nothing whenever anything happens, with no
/// code of the engine's.
[[nodiscard]] std::vector<double> times_by_definition(const Case& wanted);

/// Max-min fair rates of flows that go on at once, by progressive filling; infinite where nothing
/// limits.
[[nodiscard]] std::vector<double> rates_by_definition(const std::vector<Resource>& resources,
                                                      const std::vector<std::vector<Use>>& flows);

}  // namespace ringside::tests
