// SPDX-License-Identifier: MIT
/// Which steps a machine's preflight has, in which order: a pure function of what it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/bench/preflight/facts.hpp"
#include "ringside/bench/preflight/step.hpp"

namespace ringside::bench::preflight {

struct Request {
  Seconds total{60};   ///< for everything; what does not fit in is not run, and said to be so
  Seconds step{5};     ///< for one step; a step that takes longer hangs
  bool quick = false;  ///< smaller copies, fewer of them, no kernels timed
};

/// Checks come first: hosts, single flows without and with P2P, then many at once. Times follow in
/// the order of what they tell.
[[nodiscard]] std::vector<Step> steps_of(const Facts& facts, const Request& request);

/// Why a step should not be run after the results so far: one of its flows hung or failed by the
/// same method, with P2P as it would be now. Nothing if it should.
[[nodiscard]] std::optional<std::string> obstacle(const Step& step,
                                                  const std::vector<Result>& results);

}  // namespace ringside::bench::preflight
