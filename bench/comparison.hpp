// SPDX-License-Identifier: MIT
/// Who was faster, by how much: the arithmetic behind tables, ratios and summary.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ringside/bench/report.hpp"

namespace ringside::bench {

/// Of every round that both have, how often the time of `base` goes into that of `timing`.
[[nodiscard]] std::vector<double> round_ratios(const Timing& timing, const Timing& base);

/// The median over rounds of the same-round ratio (time of `peer` / time of `ours`): above 1, ours
/// is faster. Not a number where they have no round in common.
[[nodiscard]] double speedup(const Timing& ours, const Timing& peer);

/// One size, type, operator and placement of a collective at one number of ranks, of all series
/// that measured it.
struct Contest {
  Operation collective = Collective::all_reduce;
  int root = 0;
  int ranks = 1;
  Placement placement = Placement::out_of_place;
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  std::uint64_t asked = 0;
  std::uint64_t bytes = 0;

  struct Entry {
    const Series* series;
    const Timing* timing;
  };
  std::vector<Entry> ours;   ///< fastest first
  std::vector<Entry> peers;  ///< in the report's order
};

/// The library that comes closest to the fastest of ours; null without any. Loops written by hand
/// are no libraries.
[[nodiscard]] const Contest::Entry* best_peer(const Contest& contest);

/// All contests of a report, by collective, ranks, type, operator,
/// placement and size. Point into the report.
[[nodiscard]] std::vector<Contest> contests(const Report& report);

}  // namespace ringside::bench
