// SPDX-License-Identifier: MIT
#include "ringside/bench/nccl_tests_text.hpp"

#include <fmt/format.h>
#include <fmt/printf.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ringside/base/text.hpp"

namespace ringside::bench {
namespace {

std::string devices(const Report& report, const Series& series) {
  std::string lines = "# Using devices\n";
  for (int rank = 0; rank < series.ranks; ++rank)
    if (report.gpus) {
      const Gpu& gpu = report.gpus->of(report.request.gpus.device_of(rank));
      lines += fmt::sprintf("#  Rank %2d Group %2d Pid %6d on %10s device %2d [%s] %s\n", rank, 0,
                            static_cast<int>(::getpid()), report.machine.host_name, gpu.number,
                            gpu.pci_bus_id.substr(0, gpu.pci_bus_id.find('.')), gpu.name);
    } else {
      const Process process = process_of(report, rank);
      lines +=
          fmt::sprintf("#  Rank %2d Group %2d Pid %6d on %10s device %2d [%04x:%02x:%02x] %s\n",
                       rank, 0, process.number, process.host, 0, 0, 0, 0, process.processor);
    }
  return lines;
}

std::string column_heads() {
  const auto line = [](const char* size, const char* count, const char* type, const char* op,
                       const char* root) {
    return fmt::sprintf("# %10s  %12s  %8s  %6s  %6s", size, count, type, op, root);
  };
  const auto four = [](const char* time, const char* algbw, const char* busbw, const char* wrong) {
    return fmt::sprintf("  %7s  %6s  %6s  %6s", time, algbw, busbw, wrong);
  };
  // The last field is the place of a time stamp, which is not printed: a blank.
  return line("", "", "", "", "") +
         "           out-of-place                       in-place          \n" +
         line("size", "count", "type", "redop", "root") + four("time", "algbw", "busbw", "#wrong") +
         four("time", "algbw", "busbw", "#wrong") + " \n" + line("(B)", "(elements)", "", "", "") +
         four("(us)", "(GB/s)", "(GB/s)", "") + four("(us)", "(GB/s)", "(GB/s)", "") + " \n";
}

std::string four_fields(const Series& series, const Row& row, const std::optional<Timing>& timing) {
  if (!timing) return fmt::sprintf("  %7s  %6s  %6s    N/A", "N/A", "N/A", "N/A");
  const std::string numbers =
      fmt::sprintf("  %7s  %6s  %6s", number_in(timing->time, 7),
                   number_in(algorithm_bandwidth(row.bytes, timing->time), 6),
                   number_in(bus_bandwidth(series, row, *timing), 6));
  if (!timing->check) return numbers + "    N/A";
  return numbers + fmt::sprintf("  %6g", static_cast<double>(timing->check->wrong));
}

/// How the times of this series came about.
std::string conditions(const Report& report, const Series& series) {
  const auto& machine = report.machine;
  if (report.gpus) {
    std::string text =
        fmt::format("# ringside {} ({}), backend {}: {}, calls issued {} {}{}\n", machine.version,
                    machine.source_commit, to_string(report.request.backend), gpu_timing(report),
                    series.issue == "graphs" ? "as" : "in", series.issue,
                    series.copies.empty() ? "" : fmt::format(", copies={}", series.copies));
    return text + gpu_remarks(report, series.ranks);
  }
  if (report.processes)
    return fmt::format("# ringside {} ({}): measured on {}, {} kernels\n", machine.version,
                       machine.source_commit, describe(*report.processes, report.request.pin),
                       machine.kernels);
  return fmt::format(
      "# ringside {} ({}): measured on {}, {} of {} cores{}\n", machine.version,
      machine.source_commit, series.peer ? "ranks of its own" : "threads of one process",
      machine.allowed_cores, machine.cores,
      series.peer ? ""
                  : fmt::format(" ({}), {} kernels", placing(report.request, machine, series.ranks),
                                machine.kernels));
}

/// "3.2 to 15.8 us" of all rows and placements; empty where calls are complete when they return.
std::string issue_range(const Series& series) {
  std::vector<double> times;
  for (const auto& row : series.rows)
    for (const auto& timing : row.timings)
      if (timing && timing->issue_time) times.push_back(*timing->issue_time);
  if (times.empty()) return {};
  const auto [least, most] = std::ranges::minmax(times);
  return fmt::format("{:.2f} to {:.2f} us", least, most);
}

/// The request as far as it is about this series.
BenchRequest of_series(BenchRequest request, const Series& series) {
  request.collectives = {series.collective};
  request.ranks = {series.ranks};
  return request;
}

}  // namespace

std::string number_in(double value, int width) {
  if (std::isnan(value)) return "-";
  for (const int decimals : {2, 1, 0}) {
    auto text = fmt::sprintf("%.*f", decimals, value);
    if (text.size() <= static_cast<std::size_t>(width)) return text;
  }
  return fmt::sprintf(width >= 7 ? "%.1e" : "%.0e", value);
}

std::string text_header(const Report& report, const Series& series) {
  const auto& request = report.request;
  const bool factor = request.sizes.factor > 1;
  std::string text = fmt::format("# algorithm: {}{}\n", series.label,
                                 series.detail.empty() ? "" : fmt::format(" ({})", series.detail));
  text += conditions(report, series);
  if (!series.peer) text += options_remark(report);
  if (!series.peer && !report.gpus) text += inline_remark(of_series(request, series));
  text += buffers_remark(request);
  text += fmt::format("# Collective test starting: {}\n", nccl_tests_name(series.collective));
  text += fmt::format(
      "# nThread {} nGpus 1 minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg "
      "iters: 1 validation: {} graph: {} unalign: 0\n",
      series.ranks, request.sizes.begin, request.sizes.end,
      factor ? request.sizes.factor : request.sizes.step, factor ? "factor" : "bytes",
      request.warmup, request.iterations.value_or(0),
      request.check && (!series.peer || report.gpus || runs_on_processes(request.backend)) ? 1 : 0,
      series.issue == "graphs" ? 1 : 0);
  if (!request.iterations)
    text +=
        fmt::format("# iterations by time: {} a row and placement, in {} round{}\n",
                    format_duration(request.time), request.rounds, request.rounds == 1 ? "" : "s");
  return text + "#\n" + devices(report, series) + "#\n" + column_heads();
}

std::string text_row(const Series& series, const Row& row) {
  std::string text = fmt::sprintf("%12d  %12d  %8s  %6s  %6d", row.bytes, row.count,
                                  nccl_tests_name(row.type), redop_name(series.collective, row.op),
                                  root_column(series.collective, series.root));
  for (const auto& timing : row.timings) text += four_fields(series, row, timing);
  text += "\n";
  if (const auto chosen = choices(row); !chosen.empty())
    text += fmt::format("# {} ran {}\n", series.label, chosen);
  return text;
}

std::string text_footer(const Series& series) {
  const auto failed = failed_checks(series);
  const double bandwidth = average_bus_bandwidth(series);
  const auto issue = issue_range(series);
  return fmt::format("# Out of bounds values : {} {}\n", failed, failed == 0 ? "OK" : "FAILED") +
         (std::isnan(bandwidth) ? "# Avg bus bandwidth    : - \n"
                                : fmt::sprintf("# Avg bus bandwidth    : %g \n", bandwidth)) +
         (issue.empty() ? "" : fmt::format("# Host time of a call  : {}\n", issue)) +
         fmt::format("#\n# Collective test concluded: {}\n#\n\n",
                     nccl_tests_name(series.collective));
}

std::string text_block(const Report& report, const Series& series) {
  std::string text = text_header(report, series);
  for (const auto& row : series.rows) text += text_row(series, row);
  return text + text_footer(series);
}

}  // namespace ringside::bench
