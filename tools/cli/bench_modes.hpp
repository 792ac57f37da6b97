// SPDX-License-Identifier: MIT
/// What `ringside bench` does besides sweeps: making a tuning table, judging `auto`, comparing
/// runs, checking a machine's GPU-to-GPU paths.
#pragma once

#include <optional>
#include <string>

#include "ringside/bench/preflight/schedule.hpp"
#include "ringside/bench/request.hpp"
#include "ringside/bench/tune.hpp"

namespace ringside::cli {

/// Throws Error(bad_input) where the time is too short for so many cells.
void check_tuning_time(const bench::TuneRequest& request);

/// Measures and writes the table ("-": to standard output); says before how long it will take.
void run_tune(const bench::TuneRequest& request, const std::string& output);

/// Measures `auto` against every algorithm and writes the table.
void run_regret(const bench::BenchRequest& request, const std::string& output);

struct ComparisonRequest {
  std::string old_run, new_run;  ///< files; no new one: measure now what the old one says
  std::optional<Seconds> timeout;
  bool json = false;
  std::string output;
};

/// Writes what differs. Returns the exit code: 1 if something is slower or a result was wrong.
int run_comparison(const ComparisonRequest& request);

/// Checks and measures the paths between the GPUs, by another process of this program, and writes
/// the report. Returns the exit code: 1 for a finding.
int run_preflight(const bench::preflight::Request& request, bool json, const std::string& output);

}  // namespace ringside::cli
