// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/bench_modes.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/json_report.hpp"
#include "ringside/bench/passes.hpp"
#include "ringside/bench/preflight/json.hpp"
#include "ringside/bench/preflight/run.hpp"
#include "ringside/bench/preflight/text.hpp"
#include "ringside/bench/progress.hpp"
#include "ringside/bench/regret.hpp"
#include "ringside/bench/run_comparison.hpp"
#include "ringside/bench/table.hpp"
#include "ringside/tools/cli/output.hpp"

namespace ringside::cli {
namespace {

/// To a file in one step, or to standard output.
void write_text(const std::string& path, const std::string& text) {
  if (path != "-") return write_file(path, text);
  print(text);
  flush();
}

bench::SweepListener shown_on(bench::Progress& progress) {
  bench::SweepListener listener;
  listener.progress = [&](std::size_t done, std::size_t total, const std::string& what) {
    progress.show(done, total, what);
  };
  return listener;
}

}  // namespace

void check_tuning_time(const bench::TuneRequest& request) {
  if (const auto least = bench::least_tuning_time(request); request.time < least)
    throw Error(ErrorCode::bad_input,
                fmt::format("--tune-time: so many collectives, ranks and sizes take {} at least",
                            format_duration(least)));
}

void run_tune(const bench::TuneRequest& request, const std::string& output) {
  check_tuning_time(request);
  bench::Progress progress;
  if (progress.wanted())
    fmt::print(stderr, "ringside: tuning takes {}\n", bench::tuning_estimate(request));
  std::vector<bench::Skipped> skipped;
  const TuningTable table = bench::tune(request, shown_on(progress).progress, &skipped);
  progress.erase();
  for (const auto& [label, ranks, reason, collective] : skipped)
    fmt::print(stderr, "ringside: skipped: {} ({}, {} ranks): {}\n", label, to_string(collective),
               ranks, reason);
  write_text(output, tuning_to_json(table));
}

void run_regret(const bench::BenchRequest& request, const std::string& output) {
  bench::Progress progress;
  bench::Report left_out;
  const auto regrets = bench::measure_regret(request, shown_on(progress), &left_out.skipped);
  progress.erase();
  write_text(output, bench::skipped_lines(left_out) + bench::regret_table(regrets));
}

int run_comparison(const ComparisonRequest& request) {
  const auto old_run = bench::run_from_json(read_file(request.old_run), request.old_run);
  bench::MeasuredRun new_run;
  if (request.new_run.empty()) {
    auto measured = old_run.request;
    measured.timeout = request.timeout;
    bench::Progress progress;
    const auto report = bench::run_passes(measured, shown_on(progress));
    progress.erase();
    new_run = bench::run_from_json(bench::json_report(report, false), "now");
  } else {
    new_run = bench::run_from_json(read_file(request.new_run), request.new_run);
  }
  const auto comparison = bench::compare_runs(old_run, new_run);
  const auto text = request.json ? bench::comparison_json(old_run, new_run, comparison)
                                 : bench::comparison_text(old_run, new_run, comparison);
  write_text(request.output, text);
  return comparison.right() && !comparison.slower() ? 0 : 1;
}

int run_preflight(const bench::preflight::Request& request, bool json, const std::string& output) {
  namespace preflight = bench::preflight;
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  bench::Progress progress;
  const auto report =
      preflight::run_preflight(request, {self, "bench", "--preflight-worker"},
                               [&](std::size_t done, std::size_t total, const std::string& what) {
                                 progress.show(done, total, what);
                               });
  progress.erase();
  write_text(output, json ? preflight::json_of(report) : preflight::text_of(report));
  return preflight::findings_of(report).empty() ? 0 : 1;
}

}  // namespace ringside::cli
