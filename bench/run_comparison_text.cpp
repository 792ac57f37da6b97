// SPDX-License-Identifier: MIT
/// The outcome of a comparison of two runs, for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/run_comparison.hpp"

namespace ringside::bench {
namespace {

std::string interval_text(const Ratio& ratio) {
  if (std::isinf(ratio.interval.high)) return "(too few rounds)";
  return fmt::format("({:.3f} to {:.3f})", ratio.interval.low, ratio.interval.high);
}

/// "1.102 (1.050 to 1.157)", or a dash.
std::string ratio_text(const Ratio& ratio) {
  if (ratio.verdict == Verdict::unknown) return "-";
  return fmt::format("{:.3f} {}", ratio.estimate, interval_text(ratio));
}

std::string overall_text(const RunComparison& comparison) {
  const Ratio& overall = comparison.overall;
  switch (overall.verdict) {
    case Verdict::unknown:
      return "no row could be compared: the cores were never as far apart as in the old run; "
             "measure again";
    case Verdict::same:
      return "no difference beyond the noise";
    case Verdict::slower:
      return fmt::format("SLOWER by {:.1f} %", 100 * (overall.estimate - 1));
    case Verdict::faster:
      return fmt::format("faster by {:.1f} %", 100 * (1 - overall.estimate));
  }
  return {};
}

std::string run_line(const char* which, const MeasuredRun& run) {
  return fmt::format("# {}: {}, commit {}, {}, {}\n", which, run.name, run.commit, run.date,
                     run.processor);
}

std::string key_text(const RunKey& key) {
  return fmt::format("{:<14} {:>2} ranks  {:>8}  {:<12}  {} {}{}", key.collective, key.ranks,
                     format_bytes(key.size), to_string(key.placement), key.type, key.redop,
                     key.root >= 0 ? fmt::format(" root {}", key.root) : "");
}

std::size_t count(const RunComparison& comparison, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(comparison.rows.begin(), comparison.rows.end(),
                    [&](const RowComparison& row) { return row.ratio.verdict == verdict; }));
}

Json to_json(const Ratio& ratio) {
  return {
      {"new_over_old", ratio.verdict == Verdict::unknown ? Json(nullptr) : Json(ratio.estimate)},
      {"low", ratio.interval.low},
      {"high", ratio.interval.high},
      {"verdict", to_string(ratio.verdict)}};
}

}  // namespace

std::string comparison_text(const MeasuredRun& old_run, const MeasuredRun& new_run,
                            const RunComparison& comparison) {
  std::string text = run_line("old", old_run) + run_line("new", new_run);
  if (old_run.processor != new_run.processor)
    text += "# warning: these are two machines, not two programs, that are compared\n";
  text +=
      "# measured; ratio: new time over old time, with the interval that all of these together "
      "have\n";
  std::size_t width = 9;
  for (const auto& row : comparison.rows) width = std::max(width, row.key.algorithm.size());
  for (const auto& row : comparison.rows)
    text += fmt::format(
        "{}  {:<{}}  {:<26} {}{}\n", key_text(row.key), row.key.algorithm, width,
        ratio_text(row.ratio), to_string(row.ratio.verdict),
        row.normalised_by.empty() ? "" : fmt::format("  (divided by {})", row.normalised_by));
  text += fmt::format("rows: {} slower, {} faster, {} the same, {} not comparable",
                      count(comparison, Verdict::slower), count(comparison, Verdict::faster),
                      count(comparison, Verdict::same), count(comparison, Verdict::unknown));
  if (comparison.only_old + comparison.only_new > 0)
    text += fmt::format("; {} only in the old run, {} only in the new one", comparison.only_old,
                        comparison.only_new);
  return text + fmt::format("\nover all rows: {}: {}\n", ratio_text(comparison.overall),
                            overall_text(comparison));
}

std::string comparison_json(const MeasuredRun& old_run, const MeasuredRun& new_run,
                            const RunComparison& comparison) {
  const auto run = [](const MeasuredRun& of) {
    return Json{{"name", of.name},
                {"commit", of.commit},
                {"start_time", of.date},
                {"processor", of.processor}};
  };
  Json rows = Json::array();
  for (const auto& row : comparison.rows) {
    Json json = {
        {"collective", row.key.collective},
        {"algorithm", row.key.algorithm},
        {"ranks", row.key.ranks},
        {"placement", row.key.placement == Placement::in_place ? "in_place" : "out_of_place"},
        {"type", row.key.type},
        {"redop", row.key.redop},
        {"root", row.key.root},
        {"size", row.key.size}};
    json.update(to_json(row.ratio));
    json["old_rounds"] = row.old_rounds;
    json["new_rounds"] = row.new_rounds;
    json["divided_by"] = row.normalised_by.empty() ? Json(nullptr) : Json(row.normalised_by);
    rows.push_back(std::move(json));
  }
  return dump_json({{"ringside_comparison", 1},
                    {"kind", "measured"},
                    {"old", run(old_run)},
                    {"new", run(new_run)},
                    {"rows", std::move(rows)},
                    {"only_in_old", comparison.only_old},
                    {"only_in_new", comparison.only_new},
                    {"overall", to_json(comparison.overall)},
                    {"slower", comparison.slower()}});
}

}  // namespace ringside::bench
