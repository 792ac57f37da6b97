// SPDX-License-Identifier: MIT
/// Something whose collectives can be timed: an algorithm of ours, or another library.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringside/bench/report.hpp"

namespace ringside::bench {

/// The call to be timed.
struct Cell {
  Operation collective = Collective::all_reduce;
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  std::uint64_t count = 0;  ///< elements of a block (volume.hpp)
  Placement placement = Placement::out_of_place;
  int root = 0;
};

/// How often: `samples` samples of `calls_per_sample` calls on end, after `lead_in` untimed calls.
struct Block {
  std::int64_t samples = 1;
  std::int64_t calls_per_sample = 1;
  int lead_in = 0;
  Buffers buffers = Buffers::warm;  ///< also of the untimed calls
  /// No sample begins later than this after the first, but for one or two: what was a block of
  /// milliseconds may take minutes on a machine whose cores are taken away meanwhile. A subject
  /// that cannot stop early runs all samples.
  std::optional<Seconds> limit = std::nullopt;
};

/// A sample timed by the host's clock: reading that takes about 22 ns, 1 % of this.
inline constexpr Seconds clock_sample{2e-6};

/// What a block took. Each rank reads its clock before the first call and after every sample.
struct BlockTimes {
  std::vector<double> rank_seconds;  ///< by rank: the whole block
  /// By sample: the slowest rank's, of one call (mean). Fewer than asked for at the block's limit.
  std::vector<double> sample_seconds;
  /// By rank, where calls return before they are complete: seconds in the calls alone. Else empty.
  std::vector<double> issue_seconds = {};
  double foreign_cpu_seconds = 0;  ///< processor time of ranks outside this process
};

/// Used from one thread; between calls it takes no processor time.
class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;

  /// The series to be filled, without rows.
  [[nodiscard]] virtual Series describe() const = 0;
  /// Nothing, or why this cannot run the call.
  [[nodiscard]] virtual std::optional<std::string> refusal(const Cell& cell) const = 0;
  /// The canonical spec of the algorithm that the call runs, where the series' label does not say
  /// it (`auto`).
  [[nodiscard]] virtual std::string choice(const Cell&) { return {}; }
  /// No sample shall be shorter than this: the clock would be a part of it.
  [[nodiscard]] virtual Seconds shortest_sample() const { return clock_sample; }
  /// Times one block. All ranks start together: after the untimed calls, or after a message of one
  /// element where there are none.
  virtual BlockTimes time(const Cell& cell, const Block& block) = 0;
  /// Checks calls of their own, which are not timed; nothing if this subject cannot be checked.
  virtual std::optional<CheckOutcome> check(const Cell& cell) = 0;
};

}  // namespace ringside::bench
