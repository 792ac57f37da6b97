// SPDX-License-Identifier: MIT
#include "ringside/bench/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ringside/base/text.hpp"
#include "ringside/bench/comparison.hpp"

namespace ringside::bench {
namespace {

/// Three digits at least: "0.123", "12.3", "1234".
std::string short_number(double value) {
  if (std::isnan(value)) return "-";
  return fmt::format("{:.{}f}", value, value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
}

std::string ratio(double value) { return short_number(value) + (std::isnan(value) ? "" : "x"); }

/// Lines of cells, the first column left-aligned, the others right-aligned.
std::string aligned(const std::vector<std::vector<std::string>>& lines, std::string_view before) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], line[i].size());
    }
  std::string text;
  for (const auto& line : lines) {
    std::string one(before);
    for (std::size_t i = 0; i < line.size(); ++i)
      one += i == 0 ? fmt::format("{:<{}}", line[i], widths[i])
                    : fmt::format("  {:>{}}", line[i], widths[i]);
    one.erase(one.find_last_not_of(' ') + 1);
    text += one + "\n";
  }
  return text;
}

/// "out of place, float sum".
std::string what_moves(const Contest& contest) {
  if (contest.collective == Collective::barrier) return "no data";
  const auto type = nccl_tests_name(contest.type);
  if (!reduces(contest.collective))
    return fmt::format("{}, {}", to_string(contest.placement), type);
  return fmt::format("{}, {} {}", to_string(contest.placement), type, nccl_tests_name(contest.op));
}

double bus_bandwidth(const Contest& contest, const Timing& timing) {
  return algorithm_bandwidth(contest.bytes, timing.time) *
         bus_factor(contest.collective, contest.ranks);
}

std::string wrong_mark(const Timing& timing) {
  return timing.check && timing.check->wrong > 0 ? "!" : "";
}

/// Whether the rounds differ by so much that the time says little.
bool is_noisy(const Timing& timing) {
  if (timing.round_times.empty()) return false;
  const auto [least, most] = std::ranges::minmax(timing.round_times);
  return most > 2 * least;
}

/// A time, with the marks for noise and for wrong elements.
std::string time_cell(const Timing& timing) {
  return (is_noisy(timing) ? "~" : "") + short_number(timing.time) + wrong_mark(timing);
}

/// What `~` means; empty where there is none.
std::string noise_line(const std::vector<Contest>& columns) {
  const auto noisy = [](const Contest::Entry& entry) { return is_noisy(*entry.timing); };
  const bool any = std::ranges::any_of(columns, [&](const Contest& column) {
    return std::ranges::any_of(column.ours, noisy) || std::ranges::any_of(column.peers, noisy);
  });
  return any ? "  ~ the rounds differ by more than 2x: measure again on a quiet machine\n" : "";
}

const Contest::Entry* entry_of(const std::vector<Contest::Entry>& entries, const Series& series) {
  for (const auto& entry : entries)
    if (entry.series == &series) return &entry;
  return nullptr;
}

/// What `auto` ran at the sizes of a table; empty without it.
std::string choices_line(const std::vector<Contest>& columns) {
  struct Run {
    std::string spec;
    std::uint64_t first, last;
  };
  std::vector<Run> runs;  // neighbouring sizes with the same choice
  for (const auto& column : columns)
    for (const auto& [series, timing] : column.ours) {
      if (timing->spec.empty()) continue;
      if (runs.empty() || runs.back().spec != timing->spec)
        runs.push_back({timing->spec, column.bytes, column.bytes});
      runs.back().last = column.bytes;
    }
  std::vector<std::string> chosen;
  for (const auto& [spec, first, last] : runs)
    chosen.push_back(fmt::format("{} {}{}", spec, format_bytes(first),
                                 first == last ? "" : fmt::format(" to {}", format_bytes(last))));
  return chosen.empty() ? std::string() : fmt::format("  auto ran: {}\n", join(chosen, ", "));
}

/// The contests of one table: same collective, ranks, type, operator and placement; a column each.
std::string table(const Report& report, const std::vector<Contest>& columns, std::size_t first) {
  const Contest& any = columns.front();
  std::string text = fmt::format(
      "{}{}, {} ranks, {}: microseconds a call, * the fastest of ours\n", to_string(any.collective),
      has_root(any.collective) ? fmt::format(" (root {})", any.root) : "", any.ranks,
      what_moves(any));
  std::vector<std::vector<std::string>> lines(1);
  lines[0].emplace_back("algorithm");
  for (const auto& column : columns) lines[0].push_back(format_bytes(column.bytes) + " ");
  std::vector<const Series*> peers;
  for (std::size_t i = first; i < report.series.size(); ++i) {
    const Series& series = report.series[i];
    if (series.ranks != any.ranks || series.collective != any.collective) continue;
    if (series.peer) peers.push_back(&series);
    std::vector<std::string> line = {series.label};
    for (const auto& column : columns) {
      std::string cell = "- ";
      for (std::size_t place = 0; place < column.ours.size(); ++place)
        if (column.ours[place].series == &series)
          cell = time_cell(*column.ours[place].timing) +
                 (place == 0 && !report.nothing_measured() ? "*" : " ");
      if (const auto* entry = entry_of(column.peers, series))
        cell = time_cell(*entry->timing) + " ";
      line.push_back(cell);
    }
    lines.push_back(std::move(line));
  }
  for (const Series* peer : peers) {
    std::vector<std::string> line = {fmt::format("{} / fastest of ours", peer->label)};
    for (const auto& column : columns) {
      const auto* entry = entry_of(column.peers, *peer);
      line.push_back(
          entry == nullptr ? "- " : ratio(speedup(*column.ours.front().timing, *entry->timing)));
    }
    lines.push_back(std::move(line));
  }
  std::vector<std::string> bandwidth = {"bus bandwidth of the fastest, GB/s"};
  for (const auto& column : columns)
    bandwidth.push_back(short_number(bus_bandwidth(column, *column.ours.front().timing)) + " ");
  if (any.collective != Collective::barrier) lines.push_back(std::move(bandwidth));
  return text + aligned(lines, "  ") + choices_line(columns) + noise_line(columns) + "\n";
}

bool same_table(const Contest& a, const Contest& b) {
  return a.collective == b.collective && a.ranks == b.ranks && a.type == b.type && a.op == b.op &&
         a.placement == b.placement;
}

/// Why the ratios are not those of the columns.
const char* ratio_remark() {
  return "# ratios are medians of same-round ratios, times are medians over rounds: where the "
         "machine changes, a ratio may differ from that of two times\n";
}

std::string gpu_title(const Report& report) {
  const auto& machine = report.machine;
  const auto& request = report.request;
  std::string text =
      fmt::format("# ringside {}, backend {}: {}, calls issued in {}, copies={}{}\n",
                  machine.version, to_string(request.backend), gpu_timing(report),
                  fmt::join(request.gpus.issue, " and "), fmt::join(request.gpus.copies, " and "),
                  request.check ? "; results checked" : "; results NOT checked");
  for (const auto& gpu : report.gpus->list)
    text += fmt::format("# GPU {} [{}] {}, {}\n", gpu.number, gpu.pci_bus_id, gpu.name,
                        format_bytes(gpu.memory));
  return text + options_remark(report) +
         gpu_remarks(report, *std::ranges::max_element(request.ranks)) +
         (request.compare.empty() ? "" : ratio_remark());
}

}  // namespace

std::string table_title(const Report& report) {
  if (report.gpus) return gpu_title(report);
  const auto& machine = report.machine;
  const std::string where =
      report.processes ? fmt::format("{}, {}", machine.processor,
                                     describe(*report.processes, report.request.pin))
                       : fmt::format("{} ({} of {} cores), ranks are threads ({})",
                                     machine.processor, machine.allowed_cores, machine.cores,
                                     placing(report.request, machine,
                                             *std::ranges::max_element(report.request.ranks)));
  return fmt::format("# ringside {}: measured on {}, {} kernels{}\n", machine.version, where,
                     machine.kernels,
                     report.request.check ? "; results checked" : "; results NOT checked") +
         options_remark(report) + (report.request.compare.empty() ? "" : ratio_remark()) +
         inline_remark(report.request) + buffers_remark(report.request);
}

std::string tables(const Report& report, std::size_t first) {
  std::string text;
  std::vector<Contest> columns;
  const int ranks = report.series.at(first).ranks;
  const auto collective = report.series.at(first).collective;
  for (const auto& contest : contests(report)) {
    if (contest.ranks != ranks || contest.collective != collective) continue;
    if (!columns.empty() && !same_table(columns.front(), contest)) {
      text += table(report, columns, first);
      columns.clear();
    }
    columns.push_back(contest);
  }
  if (!columns.empty()) text += table(report, columns, first);
  std::uint64_t failed = 0;
  for (std::size_t i = first; i < report.series.size(); ++i)
    failed += failed_checks(report.series[i]);
  if (failed > 0) text += fmt::format("! {} checks FAILED: wrong elements\n\n", failed);
  return text;
}

std::string ratio_table(const Report& report) {
  if (report.nothing_measured()) return {};
  std::vector<std::vector<std::string>> lines = {{"collective", "ranks", "type", "redop",
                                                  "placement", "size", "peer", "peer us", "ours us",
                                                  "ratio", "fastest of ours"}};
  for (const auto& contest : contests(report)) {
    const auto& best = contest.ours.front();
    for (const auto& peer : contest.peers)
      lines.push_back({std::string(to_string(contest.collective)), std::to_string(contest.ranks),
                       std::string(nccl_tests_name(contest.type)),
                       std::string(redop_name(contest.collective, contest.op)),
                       std::string(to_string(contest.placement)), format_bytes(contest.bytes),
                       peer.series->label, short_number(peer.timing->time),
                       short_number(best.timing->time), ratio(speedup(*best.timing, *peer.timing)),
                       best.series->label});
  }
  if (lines.size() == 1) return {};
  return "# time of the peer / time of ours, measured: median of same-round ratios; above 1 ours "
         "is "
         "faster.\n"
         "# So a ratio may differ from that of the two times beside it, which are medians.\n"
         "# " +
         std::string(report.gpus ? ""
                                 : "Threads against processes (Gloo: threads): not like for "
                                   "like. ") +
         "The fastest of ours was picked from these numbers.\n" + aligned(lines, "# ");
}

std::string skipped_lines(const Report& report) {
  std::string text;
  for (const auto& [label, ranks, reason, collective] : report.skipped)
    text += fmt::format("# skipped: {} ({}, {} ranks): {}\n", label, to_string(collective), ranks,
                        reason);
  return text;
}

}  // namespace ringside::bench
