// SPDX-License-Identifier: MIT
/// Tuning tables: which algorithm was the fastest, measured, by collective, ranks and size.
///
/// A table is data: `ringside bench --tune FILE` writes one, `choose` (choice.hpp) looks up in it,
/// and one comes with the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/collectives/request.hpp"

namespace ringside {

/// The version that is written, and the only one that is read.
inline constexpr int tuning_json_version = 1;

/// What to take from a size on.
struct TuningRange {
  std::uint64_t from = 0;  ///< bytes of all blocks of the request together
  std::string spec;

  bool operator==(const TuningRange&) const = default;
};

/// What was measured at one size: the reason for a choice.
struct MeasuredSize {
  struct Time {
    std::string spec;
    double microseconds = 0;  ///< of one call

    bool operator==(const Time&) const = default;
  };
  std::uint64_t bytes = 0;
  std::vector<Time> times;  ///< fastest first; perhaps not all that were measured

  bool operator==(const MeasuredSize&) const = default;
};

/// The choices for one collective at one number of ranks.
struct TuningRow {
  std::string backend = "host";
  Collective collective = Collective::all_reduce;
  int ranks = 2;
  int cores = 1;                       ///< that the ranks could run on
  std::optional<bool> in_place;        ///< nothing: either; only all_reduce may tell them apart
  std::vector<TuningRange> ranges;     ///< at least one; ascending, the first from 0
  std::vector<MeasuredSize> measured;  ///< ascending; may be empty

  bool operator==(const TuningRow&) const = default;

  /// The index of the range that a size falls in.
  [[nodiscard]] std::size_t range_of(std::uint64_t bytes) const;
};

/// Where a table comes from, for people.
struct TuningOrigin {
  std::string machine, date, commit;
  std::string measured;  ///< what was timed, and how

  bool operator==(const TuningOrigin&) const = default;
};

struct TuningTable {
  std::string name;  ///< the file's, for messages
  TuningOrigin origin;
  std::vector<TuningRow> rows;
};

/// Whether a choice may depend on the placement. Where ranks may differ in it (a rank that is not
/// the root of a broadcast has no say), it must not.
[[nodiscard]] constexpr bool chooses_by_placement(Collective collective) {
  return collective == Collective::all_reduce;
}

[[nodiscard]] std::string tuning_to_json(const TuningTable& table);

/// Reads one with suspicion. Throws Error(bad_input), one line that says where: spec strings must
/// be spec strings, but whether an algorithm of that name exists is not asked.
[[nodiscard]] TuningTable tuning_from_json(std::string_view text, const std::string& name);

/// Throws Error(bad_input) if a row names an algorithm that is not registered, or a spec that
/// cannot serve the row's collective, ranks and placements.
void check_algorithms(const TuningTable& table);

}  // namespace ringside
