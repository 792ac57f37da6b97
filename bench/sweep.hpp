// SPDX-License-Identifier: MIT
/// The whole measurement: every algorithm of every collective at every number of ranks, type,
/// operator, size and placement, and other libraries beside them.
#pragma once

#include <functional>

#include "ringside/bench/report.hpp"

namespace ringside::bench {

/// Called as soon as something is known, for output that does not wait for the end.
struct SweepListener {
  /// A series is about to be measured; it has no rows yet.
  std::function<void(const Report& report, const Series& series)> start = [](const Report&,
                                                                             const Series&) {};
  /// A row is complete; `series` holds it and those before it. Series of one collective
  /// and number of ranks grow together, because their algorithms take turns.
  std::function<void(const Series& series, const Row& row)> row = [](const Series&, const Row&) {};
  /// All series of a collective and number of ranks are complete; `first` is the index of the first
  /// of them.
  std::function<void(const Report& report, std::size_t first)> group = [](const Report&,
                                                                          std::size_t) {};
  /// Progress: `done` of `total` cells (sizes times placements, of all types, operators,
  /// collectives and numbers of ranks).
  std::function<void(std::size_t done, std::size_t total, const std::string& what)> progress =
      [](std::size_t, std::size_t, const std::string&) {};
};

/// Throws Error(bad_input, unsupported) for what is wrong with a request whatever it runs on:
/// sizes, placements, the root, algorithms that serve nothing. Without ranks, as far as that can be
/// known.
void check_request(const BenchRequest& request);

/// Measures. Throws Error: bad_input for a request that makes no sense or does not fit the memory,
/// unsupported for an algorithm named in it that serves none of the collectives at a number of
/// ranks, and what the collectives throw.
[[nodiscard]] Report run_sweep(const BenchRequest& request, const SweepListener& listener = {});

/// True if no check failed.
[[nodiscard]] bool all_right(const Report& report);

}  // namespace ringside::bench
