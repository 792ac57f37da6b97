// SPDX-License-Identifier: MIT
/// Two runs of the benchmark: which rows differ, beyond what two runs of the same program differ.
///
/// The unit is a round (the median of its samples, or the mean where ranks share cores), and rounds
/// must be spread over the run (passes.hpp): then they differ by
/// all that differs between two runs too. Virtual cores move, which changes latencies fourfold:
/// rounds are compared only with rounds of the same distance between the cores, told by the probe
/// beside each of them; rounds whose two probes disagree are left out. What else changes the speed
/// of the machine is divided out where it was measured in the same rounds: by the time of a loop
/// that no change of the library changes (`baseline:...`), or by the probe, whichever makes the
/// rounds of a row agree best. The ratio of a row is Hodges and Lehmann's, its interval Mann and
/// Whitney's, which ask nothing of the distribution; the confidence is corrected for the number of
/// rows (Bonferroni).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/bench/intervals.hpp"
#include "ringside/bench/request.hpp"

namespace ringside::bench {

/// What the names of baselines begin with (competitors.hpp).
inline constexpr std::string_view baseline_prefix = "baseline:";

/// Of the same row in two runs everything here is the same.
struct RunKey {
  std::string collective, algorithm;
  int ranks = 1;
  std::string type, redop;
  int root = -1;
  std::uint64_t asked = 0;  ///< the size of the sweep: several may be rounded to one (volume.hpp)
  std::uint64_t size = 0;
  Placement placement = Placement::out_of_place;

  auto operator<=>(const RunKey&) const =
      default;  // NOLINT(modernize-use-nullptr): the comparison itself
};

/// One round of a row.
struct RunRound {
  double microseconds = 0;
  double probe_before_ns = 0, probe_after_ns = 0;  ///< between the cores; 0: not probed
};

struct RunRow {
  RunKey key;
  std::vector<RunRound> rounds;
  std::uint64_t wrong = 0;  ///< elements that the check found wrong
};

struct MeasuredRun {
  std::string name;  ///< of the file, or "now"
  std::string processor, commit, date;
  std::string version = {}, compiler = {}, kernels = {};  ///< of the program
  std::string gpus = {};  ///< their names and versions in words; empty: the host
  int cores = 0;          ///< that the ranks could run on
  /// The library's options that were not at their default; nothing: the file does not say.
  std::optional<std::map<std::string, std::string>> options = std::nullopt;
  BenchRequest request;
  std::vector<RunRow> rows;
};

/// Reads what `ringside bench --spread --format json` wrote. Throws Error(bad_input), one line that
/// says where; also for a run whose rounds are not spread, and for one that has a row twice.
[[nodiscard]] MeasuredRun run_from_json(std::string_view text, const std::string& name);

struct ComparisonRules {
  /// The probability of any false alarm, over all rows, if the runs differ by noise alone. Half of
  /// it for the ratio over all rows.
  double false_alarm = 0.01;
  /// Differences up to this are none: a run has an offset of its own (where its memory lies, what
  /// the host's other guests do) that its rounds share.
  double tolerance = 0.03;
};

enum class Verdict { same, slower, faster, unknown };

[[nodiscard]] std::string_view to_string(Verdict verdict);

/// New time over old time.
struct Ratio {
  double estimate = 1;
  Interval interval;  ///< corrected; infinite where the rounds are too few for it
  Verdict verdict = Verdict::unknown;

  /// There were rounds to compare, but too few to tell.
  [[nodiscard]] bool too_few_rounds() const;
};

struct RowComparison {
  RunKey key;
  Ratio ratio;
  std::size_t old_rounds = 0, new_rounds = 0;  ///< that could be compared
  std::string normalised_by;                   ///< "", "probe", "baseline:..."
};

struct RunComparison {
  std::vector<RowComparison> rows;             ///< in the order of the old run
  std::size_t only_old = 0, only_new = 0;      ///< rows that the other run lacks
  Ratio overall;                               ///< of the median row
  std::uint64_t old_wrong = 0, new_wrong = 0;  ///< wrong elements in all rows of a run
  /// What the runs differ in that is no program's doing, a sentence each.
  std::vector<std::string> warnings;

  [[nodiscard]] bool slower() const;
  [[nodiscard]] bool right() const { return old_wrong == 0 && new_wrong == 0; }
};

/// Compares. Throws Error(bad_input) if the runs have no row in common, were measured under
/// conditions that change what is timed (buffers, counts, pinning), or if not one row, nor all of
/// them together, could be told slower, faster or the same.
[[nodiscard]] RunComparison compare_runs(const MeasuredRun& old_run, const MeasuredRun& new_run,
                                         const ComparisonRules& rules = {});

/// For people: a line per row, then the ratio over all rows and the verdict.
[[nodiscard]] std::string comparison_text(const MeasuredRun& old_run, const MeasuredRun& new_run,
                                          const RunComparison& comparison);
/// The same for programs.
[[nodiscard]] std::string comparison_json(const MeasuredRun& old_run, const MeasuredRun& new_run,
                                          const RunComparison& comparison);

}  // namespace ringside::bench
