// SPDX-License-Identifier: MIT
/// What a benchmark is asked to measure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/bench/sizes.hpp"
#include "ringside/collectives/reduction/types.hpp"

namespace ringside::bench {

enum class Placement : int { out_of_place, in_place };

inline constexpr std::array placements = {Placement::out_of_place, Placement::in_place};

/// "out of place", "in place".
[[nodiscard]] constexpr std::string_view to_string(Placement placement) {
  return placement == Placement::in_place ? "in place" : "out of place";
}

struct BenchRequest {
  /// Spec strings; empty: every registered algorithm that supports the request.
  std::vector<std::string> algorithms = {};
  std::vector<int> ranks = {2};
  SizeRange sizes = {};
  std::vector<ElementType> types = {ElementType::float32};
  std::vector<ReduceOp> ops = {ReduceOp::sum};
  std::array<bool, placements.size()> measured = {true, true};  ///< by Placement

  /// Calls in all of one algorithm, size and placement, or nothing: as many as fit `time`.
  std::optional<std::int64_t> iterations = std::nullopt;
  Seconds time{0.05};
  int warmup = 1;  ///< untimed calls before the first round
  int rounds = 5;  ///< blocks of calls that the time or the calls are spread over
  bool check = true;
  /// Rank r on core r mod cores: the system may otherwise leave two ranks on one core, and mpirun
  /// binds its ranks too (to cores up to two of them).
  bool pin = true;
  std::optional<Seconds> timeout = std::nullopt;  ///< of one wait; else the option `timeout`

  bool compare_openmpi = false;
  std::string openmpi_program = {};  ///< the peer; empty: look for it beside this program
};

}  // namespace ringside::bench
