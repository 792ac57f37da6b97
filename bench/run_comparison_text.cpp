// SPDX-License-Identifier: MIT
/// The outcome of a comparison of two runs, for people and for programs.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/run_comparison.hpp"

namespace ringside::bench {
namespace {

/// "1.102 (1.050 to 1.157)", or a dash.
std::string ratio_text(const Ratio& ratio) {
  if (ratio.too_few_rounds()) return "- (too few rounds to tell)";
  if (ratio.verdict == Verdict::unknown) return "-";
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", ratio.estimate, ratio.interval.low,
                     ratio.interval.high);
}

/// A text of a file, fit for a terminal: quoted if anything in it cannot be printed.
std::string printable(const std::string& text) {
  const bool clean =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return clean ? text : quote(text, 200);
}

std::string overall_text(const RunComparison& comparison) {
  const Ratio& overall = comparison.overall;
  switch (overall.verdict) {
    case Verdict::unknown:
      return "not told";
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
  return fmt::format("# {}: {}, commit {}, {}, {}\n", which, printable(run.name),
                     printable(run.commit), printable(run.date), printable(run.processor));
}

std::string key_text(const RunKey& key) {
  return fmt::format("{:<14} {:>2} ranks  {:>8}  {:<12}  {} {}{}", printable(key.collective),
                     key.ranks, format_bytes(key.size), to_string(key.placement),
                     printable(key.type), printable(key.redop),
                     key.root >= 0 ? fmt::format(" root {}", key.root) : "");
}

/// What the machine's speed in a round was told by.
std::string normalised_text(const std::string& by) {
  if (by.empty()) return {};
  return fmt::format("  (times over {} of the same round)",
                     by == "probe" ? "the cores' latency" : printable(by));
}

std::string wrong_text(const char* which, std::uint64_t wrong) {
  if (wrong == 0) return {};
  return fmt::format("WRONG RESULTS in the {} run: {} wrong elements\n", which, wrong);
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
  for (const auto& warning : comparison.warnings) text += fmt::format("# warning: {}\n", warning);
  text +=
      "# measured; ratio: new time over old time (with its interval: 99 % over all rows together); "
      "differences within 3 % are ignored\n";
  std::size_t width = 9;
  for (const auto& row : comparison.rows)
    width = std::max(width, printable(row.key.algorithm).size());
  for (const auto& row : comparison.rows)
    text += fmt::format("{}  {:<{}}  {:<26} {}{}\n", key_text(row.key),
                        printable(row.key.algorithm), width, ratio_text(row.ratio),
                        to_string(row.ratio.verdict), normalised_text(row.normalised_by));
  text += fmt::format("rows: {} slower, {} faster, {} the same, {} not comparable",
                      count(comparison, Verdict::slower), count(comparison, Verdict::faster),
                      count(comparison, Verdict::same), count(comparison, Verdict::unknown));
  if (comparison.only_old + comparison.only_new > 0)
    text += fmt::format("; {} only in the old run, {} only in the new one", comparison.only_old,
                        comparison.only_new);
  text += fmt::format("\nover all rows: {}: {}\n", ratio_text(comparison.overall),
                      overall_text(comparison));
  return text + wrong_text("old", comparison.old_wrong) + wrong_text("new", comparison.new_wrong);
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
        {"asked_size", row.key.asked},
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
                    {"slower", comparison.slower()},
                    {"wrong_in_old", comparison.old_wrong},
                    {"wrong_in_new", comparison.new_wrong},
                    {"warnings", comparison.warnings}});
}

}  // namespace ringside::bench
