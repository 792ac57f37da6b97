// SPDX-License-Identifier: MIT
/// What a benchmark found. The writers (text, table, JSON, CSV, summary) read this and nothing
/// else.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringside/bench/machine.hpp"
#include "ringside/bench/processes.hpp"
#include "ringside/bench/request.hpp"
#include "ringside/bench/volume.hpp"

namespace ringside::bench {

/// What the check of one row and placement found.
struct CheckOutcome {
  std::uint64_t wrong = 0;            ///< wrong elements, over all ranks
  int failed_ranks = 0;               ///< ranks with at least one
  std::uint64_t exact_bytes = 0;      ///< per rank, compared with the exact result
  std::uint64_t reference_bytes = 0;  ///< per rank, compared bit for bit with the reference
};

/// What else happened around one block of a round (probe.hpp).
struct RoundFacts {
  double probe_before_ns = 0;  ///< a cache line's way between two cores; 0: not probed
  double probe_after_ns = 0;
  /// Processor time of everybody else in the whole round, over that of the ranks. The system tells
  /// it in steps of 10 ms: short rounds say little.
  double foreign_cpu = 0;
};

/// Times of one algorithm at one size in one placement, in microseconds a call.
struct Timing {
  /// What the row prints: the median over rounds of the mean over ranks of (elapsed / calls).
  double time = 0;
  std::vector<double> round_times;      ///< by round, the mean over ranks
  std::vector<double> round_medians;    ///< by round, of its samples
  std::vector<RoundFacts> round_facts;  ///< by round; empty if nothing was watched
  /// Of the samples: a sample is the slowest rank's time of `calls_per_sample` calls on end,
  /// divided by them.
  double median = 0, minimum = 0, p95 = 0;
  /// Median over rounds of the difference between the slowest and the fastest rank.
  double skew = 0;
  /// Where calls return before they are complete: what the host is in one, the median over rounds
  /// of the mean over ranks.
  std::optional<double> issue_time = std::nullopt;
  std::int64_t iterations = 0;
  std::int64_t calls_per_sample = 1;
  std::optional<CheckOutcome> check;
  std::string spec;  ///< what ran, where the series' label does not say it (`auto`)
};

/// One line of a table.
struct Row {
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;  ///< sum where nothing is reduced
  std::uint64_t asked = 0;      ///< the size of the sweep; `bytes` may be less (volume.hpp)
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;                                       ///< of a block
  std::array<std::optional<Timing>, placements.size()> timings;  ///< by Placement

  [[nodiscard]] const std::optional<Timing>& at(Placement placement) const {
    return timings[static_cast<std::size_t>(placement)];
  }
};

/// What an algorithm's plan costs out of place, counted from its ops and divided by the message's
/// bytes.
struct PlanFacts {
  int steps = 0;              ///< hops on the longest path
  std::size_t ops = 0;        ///< of all ranks
  double busiest_sent = 0;    ///< bytes that the busiest rank sends
  double memory_traffic = 0;  ///< bytes that all ranks read and write
  /// What the plan computes is the collective's definition, bit for bit: short inputs may travel in
  /// the call instead, and then the plan does not run.
  bool is_definition = false;
};

/// One algorithm, or one library that we compare with, at one collective and number of ranks.
struct Series {
  Operation collective = Collective::all_reduce;
  int root = 0;
  std::string label;  ///< spec string, or the library's name
  bool peer = false;
  bool baseline = false;                ///< a peer that is no library but a loop written by hand
  std::string detail;                   ///< a peer: what exactly was measured
  std::string spec = {};                ///< where the label says more than that
  std::string issue = {}, copies = {};  ///< GPUs: how the calls were made (StageMode)
  int ranks = 1;
  std::optional<PlanFacts> facts;
  std::vector<Row> rows;
};

/// An algorithm that was left out.
struct Skipped {
  std::string label;
  int ranks = 1;
  std::string reason;
  Operation collective = Collective::all_reduce;
};

struct Report {
  BenchRequest request;
  Machine machine;
  std::optional<Gpus> gpus = std::nullopt;  ///< that it was measured on, and not on the host
  std::optional<Processes> processes = std::nullopt;  ///< that its ranks were, and not threads
  /// The library's options that were not at their default, and their values.
  std::vector<std::pair<std::string, std::string>> options;
  std::string start_time, end_time;  ///< UTC, ISO 8601
  std::vector<Series> series;
  std::vector<Skipped> skipped;

  /// The calls ran on a test double: their results were checked, and their times mean nothing.
  [[nodiscard]] bool nothing_measured() const { return gpus && gpus->are_virtual; }
  /// "measured", or that nothing was.
  [[nodiscard]] std::string_view kind() const {
    return nothing_measured() ? "not measured" : "measured";
  }
};

/// For what was not measured: all times are NaN, and there are none of rounds.
void forget_times(Timing& timing);

/// Bytes a microsecond are MB/s; the row prints GB/s (1e9 B/s).
[[nodiscard]] inline double algorithm_bandwidth(std::uint64_t bytes, double microseconds) {
  return static_cast<double>(bytes) / microseconds / 1e3;
}

/// What each link of a bandwidth-optimal implementation would carry.
[[nodiscard]] inline double bus_bandwidth(const Series& series, const Row& row,
                                          const Timing& timing) {
  return algorithm_bandwidth(row.bytes, timing.time) * bus_factor(series.collective, series.ranks);
}

/// Whether the inputs of a message of so many bytes are so short that they may travel in the call
/// itself (on the host; `asked`: as Row has it).
[[nodiscard]] bool is_inline(const BenchRequest& request, Operation collective, int ranks,
                             ElementType type, std::uint64_t asked);

/// The option that limits what travels in the call.
[[nodiscard]] std::string_view inline_option(const BenchRequest& request);

/// A `#` line that says which messages bypass their algorithm's plan (the option `inline`); empty
/// where none that is measured does.
[[nodiscard]] std::string inline_remark(const BenchRequest& request);

/// "# options set: checksum=1": the library's options that were not at their default; empty if
/// all were.
[[nodiscard]] std::string options_remark(const Report& report);

/// "pinned: rank r on core r mod 2 (of 0 1), 4 ranks on 2 cores"...: where the ranks run.
[[nodiscard]] std::string placing(const BenchRequest& request, const Machine& machine, int ranks);

/// The process that a rank is, or is a thread of.
[[nodiscard]] Process process_of(const Report& report, int rank);

/// How times on GPUs are measured, in words.
[[nodiscard]] std::string_view gpu_timing(const Report& report);

/// `#` lines about the GPUs: versions, ranks that share one, and whether anything was measured.
/// Empty on the host.
[[nodiscard]] std::string gpu_remarks(const Report& report, int ranks);

/// A `#` line about buffers that are not warm; empty for those that are.
[[nodiscard]] std::string buffers_remark(const BenchRequest& request);

/// "one_shot", "two_shot out of place, one_shot in place": what `auto` ran in a row; else empty.
[[nodiscard]] std::string choices(const Row& row);

/// Checks that failed: one per rank, row and placement with a wrong element.
[[nodiscard]] std::uint64_t failed_checks(const Series& series);
/// The plain mean over all rows and placements measured, as nccl-tests takes it.
[[nodiscard]] double average_bus_bandwidth(const Series& series);

}  // namespace ringside::bench
