// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/diagnose_verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ringside/base/text.hpp"

namespace ringside::cli {
namespace {

/// What is farther below what is predicted needs a cause, what is farther above is of another
/// machine: the twin is never that far off (docs/twin.md). Healthy is what is as good as predicted.
constexpr double as_predicted = 0.7, as_good = 0.92, too_much = 2;
constexpr std::size_t line_width = 96;

/// How far measured and predicted are from each other at most, percent.
double farthest(const std::vector<Compared>& compared) {
  double most = 1;
  for (const auto& each : compared)
    most = std::max(most, std::ceil(100 * std::abs(1 - each.ratio())));
  return most;
}

const Compared& best_of(const std::vector<Compared>& compared) {
  return *std::ranges::max_element(compared, {}, &Compared::ratio);
}

bool covers_all(const DiagnosisReport& report) {
  return covers(report.compared, report.evidence->gpus().value_or(0));
}

/// "copy 0 -> 1, copy 1 -> 0, and 3 more"
std::string names_of(const std::vector<Compared>& compared) {
  constexpr std::size_t most = 3;
  std::vector<std::string> names;
  for (const auto& each : compared)
    if (names.size() < most) names.push_back(each.what);
  const auto more =
      compared.size() > most ? fmt::format(", and {} more", compared.size() - most) : std::string();
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

std::string partly_text(const DiagnosisReport& report) {
  return wrapped(
      fmt::format(
          "Nothing wrong is visible. What was measured ({}) is within {:.0f} % of what this "
          "topology can do (measured against predicted){}",
          names_of(report.compared), farthest(report.compared),
          covers_all(report) ? "." : "; it does not tell of all GPUs, so not of the machine."),
      "", 0);
}

std::string too_fast_text(const Compared& best) {
  return wrapped(
      fmt::format("More was measured than this topology can carry: {} measured {:.2f} GB/s, "
                  "predicted {:.2f} GB/s. The inputs are of different machines, other GPUs took "
                  "part, or NVLink is not told (nvidia-smi topo -m lists it).",
                  best.what, best.measured, best.predicted),
      "", 0);
}

/// "220 GB/s of bus bandwidth in a table of all_reduce"; empty where nothing was.
std::string measured_summary(const Evidence& evidence) {
  double busbw = 0, copies = 0;
  bool has_rows = false;
  for (const auto& table : evidence.all<CollectiveRows>()) {
    has_rows |= !table->rows.empty();
    for (const auto& row : table->rows)
      for (const auto& timing : {row.out_of_place, row.in_place})
        if (timing) busbw = std::max(busbw, timing->busbw);
  }
  for (const auto& pair : evidence.measured.pairs)
    if (pair.quantity == MeasuredQuantity::bandwidth && pair.from != pair.to)
      copies = std::max(copies, pair.value);
  std::vector<std::string> parts;
  if (busbw > 0) parts.push_back(fmt::format("{:.3g} GB/s of bus bandwidth at best", busbw));
  if (!(busbw > 0) && has_rows) parts.emplace_back("calls of small messages only");
  if (copies > 0) parts.push_back(fmt::format("copies of {:.3g} GB/s at best", copies));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string unmeasured_text(const DiagnosisReport& report) {
  const auto measured = measured_summary(*report.evidence);
  if (measured.empty())
    return "Nothing wrong is visible. Nothing was measured, so whether it is fast is not known.\n";
  const auto why = report.not_compared.empty()
                       ? "the inputs do not tell how the GPUs are linked (nvidia-smi topo -m does)"
                       : report.not_compared;
  return wrapped(fmt::format("Nothing wrong is visible. Whether it is fast is not known: measured "
                             "({}), but nothing to compare it with, because {}.",
                             measured, why),
                 "", 0);
}

}  // namespace

std::string wrapped(std::string_view text, std::string_view label, std::size_t indent) {
  std::string result, line = fmt::format("{:{}}", label, indent);
  if (label.size() > indent) line += ' ';
  bool empty = true;
  for (const auto word : split_blanks(text)) {
    if (!empty && line.size() + 1 + word.size() > line_width) {
      result += line + "\n";
      line.assign(indent, ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  return result + line + "\n";
}

std::string verdict_text(const DiagnosisReport& report) {
  const auto count = std::ranges::count_if(report.diagnoses.found, [](const Diagnosis& each) {
    return each.certainty != Certainty::possible;
  });
  const auto worst = worst_of(report.compared);
  switch (report.verdict()) {
    case Verdict::findings:
      return fmt::format("{} thing{} wrong or in the way.\n", count, count == 1 ? " is" : "s are");
    case Verdict::healthy:
      return fmt::format(
          "Healthy: within {:.0f} % of what this topology can do (measured against predicted).\n",
          farthest(report.compared));
    case Verdict::partly:
      return partly_text(report);
    case Verdict::too_fast:
      return too_fast_text(best_of(report.compared));
    case Verdict::unexplained:
      return wrapped(
          fmt::format("Slower than it could be, and {}: {} measured {:.2f} GB/s, predicted {:.2f} "
                      "GB/s.",
                      report.diagnoses.found.empty() ? "no rule says why"
                                                     : "the inputs do not show which of the "
                                                       "possible causes below it is",
                      worst->what, worst->measured, worst->predicted),
          "", 0);
    case Verdict::unmeasured:
      break;
  }
  return unmeasured_text(report);
}

std::string_view word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return "healthy";
    case Verdict::partly:
      return "nothing visible, measured in part";
    case Verdict::too_fast:
      return "more measured than the topology can carry";
    case Verdict::unmeasured:
      return "nothing visible, nothing compared";
    case Verdict::unexplained:
      return "unexplained";
    case Verdict::findings:
      break;
  }
  return "findings";
}

Verdict DiagnosisReport::verdict() const {
  if (has_findings(diagnoses)) return Verdict::findings;
  const auto worst = worst_of(compared);
  if (!worst) return Verdict::unmeasured;
  if (best_of(compared).ratio() > too_much) return Verdict::too_fast;
  if (worst->ratio() < as_predicted) return Verdict::unexplained;
  const bool is_good = worst->ratio() >= as_good && best_of(compared).ratio() <= 1 / as_good;
  return is_good && covers_all(*this) ? Verdict::healthy : Verdict::partly;
}

}  // namespace ringside::cli
