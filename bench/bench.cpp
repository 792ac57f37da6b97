// SPDX-License-Identifier: MIT
#include "ringside/bench/bench.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "ringside/bench/json_report.hpp"
#include "ringside/bench/nccl_tests_text.hpp"
#include "ringside/bench/passes.hpp"
#include "ringside/bench/progress.hpp"
#include "ringside/bench/summary.hpp"
#include "ringside/bench/sweep.hpp"
#include "ringside/bench/table.hpp"

namespace ringside::bench {
namespace {

/// Text whose rows appear as they are measured: for one algorithm, nothing comes in between.
class StreamingText {
 public:
  explicit StreamingText(const Output& output) : output_(output) {}

  void start(const Report& report, const Series& series) {
    output_.print(text_header(report, series));
  }
  void row(const Series& series, const Row& row) { output_.print(text_row(series, row)); }

 private:
  const Output& output_;
};

void tell_skipped(const Report& report) {
  for (const auto& [label, ranks, reason, collective] : report.skipped)
    fmt::print(stderr, "ringside: skipped: {} ({}, {} ranks): {}\n", label, to_string(collective),
               ranks, reason);
}

}  // namespace

int run_bench(const BenchRequest& request, const Output& output) {
  const bool streams = output.format == Format::text && request.series_at_once() == 1;
  Progress progress;
  StreamingText stream(output);
  const auto print = [&](std::string_view text) {
    progress.erase();
    output.print(text);
  };

  SweepListener listener;
  listener.progress = [&](std::size_t done, std::size_t total, const std::string& what) {
    progress.show(done, total, what);
  };
  bool titled = false;
  if (streams) {
    listener.start = [&](const Report& report, const Series& series) {
      progress.erase();
      stream.start(report, series);
    };
    listener.row = [&](const Series& series, const Row& row) {
      progress.erase();
      stream.row(series, row);
    };
  }
  if (output.format == Format::text || output.format == Format::table)
    listener.group = [&](const Report& report, std::size_t first) {
      if (output.format == Format::table) {
        if (!titled) print(table_title(report)), print("\n");
        titled = true;
        print(tables(report, first));
        return;
      }
      for (std::size_t i = first; i < report.series.size(); ++i)
        print(streams ? text_footer(report.series[i]) : text_block(report, report.series[i]));
    };

  const Report report =
      request.spread ? run_passes(request, listener) : run_sweep(request, listener);
  switch (output.format) {
    case Format::json:
      print(json_report(report, output.summary));
      break;
    case Format::csv:
      print(csv_report(report));
      tell_skipped(report);  // a table of numbers has no place for it
      break;
    case Format::text:
    case Format::table:
      print(skipped_lines(report));
      if (output.format == Format::text) print(ratio_table(report));
      if (output.summary && output.format == Format::text) print("\n");
      if (output.summary) print(summary(report));
      break;
  }
  return all_right(report) ? 0 : 1;
}

}  // namespace ringside::bench
