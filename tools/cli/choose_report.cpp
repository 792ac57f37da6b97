// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/choose_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/executors/simulated/uncertainty.hpp"
#include "ringside/collectives/selector/request_bounds.hpp"
#include "ringside/tools/cli/report_text.hpp"

namespace ringside::cli {
namespace {

constexpr double percent = 100, us = 1e6;

/// "numa0 - numa1, full 96 % of the time"
std::string limit_text(const PredictedChoice& choice) {
  if (choice.limit.empty()) return "nothing to wait for";
  const bool waiting = choice.limit == "issuing ops" || choice.limit == "latency";
  return fmt::format("{}, {}{:.0f} % of the time", choice.limit, waiting ? "" : "full ",
                     percent * choice.limit_share);
}

std::string others_text(const ChoiceReport& report, const PredictedChoice& choice) {
  std::size_t width = choice.spec.size();
  for (const Rejected& other : choice.others)
    if (other.seconds) width = std::max(width, other.spec.size());
  std::string text = "\nThe best of each other algorithm (simulated)\n";
  bool any = false;
  for (const Rejected& other : choice.others)
    if (other.seconds) {
      any = true;
      text += fmt::format("  {:{}}  {:>8}  {}\n", other.spec, width, time_text(*other.seconds),
                          other.why);
    }
  if (!any) text.clear();
  if (!report.all) return text;
  std::string refused;
  for (const Rejected& other : choice.others)
    if (!other.seconds) refused += fmt::format("  {}\n", other.why);
  return text + (refused.empty() ? "" : "\nOut of the question\n" + refused);
}

std::string row_text(const ChoiceReport& report, const ChosenRow& row) {
  const PredictedChoice& choice = row.choice;
  std::string text = fmt::format("{}\n\n", choice.spec);
  text += fmt::format("  predicted       {}, algbw {} GB/s, busbw {} GB/s (simulated)\n",
                      time_text(choice.seconds), figure(row.algorithm_bandwidth),
                      figure(row.bus_bandwidth));
  if (row.bytes < least_certain_bytes)
    text += "                  latencies decide at this size: known within a factor of 2\n";
  text += fmt::format("  limit           {}\n", limit_text(choice));
  if (choice.bound_seconds > 0)
    text += fmt::format("  no plan beats   {}{}: {}\n", time_text(choice.bound_seconds),
                        bound_caveat(report.machine->machine, report.gpus, choice.bound),
                        choice.bound.told());
  text += fmt::format("  why             {}\n", choice.why);
  text += others_text(report, choice);
  if (row.nccl)
    text += fmt::format("\nNCCL would pick {}\n  {}\n", row.nccl->pick, row.nccl->difference);
  return text;
}

std::string table_text(const ChoiceReport& report) {
  std::size_t width = 4;
  for (const auto& row : report.rows) width = std::max(width, row.choice.spec.size());
  std::string text = fmt::format("{:>8}  {:{}}  {:>8}  {:>7}  {:>7}  {}\n", "size", "plan", width,
                                 "time", "busbw", "x bound", "limit");
  for (const auto& row : report.rows) {
    const PredictedChoice& choice = row.choice;
    const std::string distance =
        choice.bound_seconds > 0 ? figure(choice.seconds / choice.bound_seconds) : "-";
    text += fmt::format("{:>8}  {:{}}  {:>8}  {:>7}  {:>7}  {}\n", format_bytes(row.bytes),
                        choice.spec, width, time_text(choice.seconds), figure(row.bus_bandwidth),
                        distance, limit_text(choice));
  }
  return text +
         "Times are simulated, busbw in GB/s; x bound: times what no plan can beat. Below 64 "
         "KiB\nlatencies decide, which are known within a factor of 2.\n";
}

Json others_json(const PredictedChoice& choice) {
  Json list = Json::array();
  for (const Rejected& other : choice.others) {
    Json json = {{"spec", other.spec}, {"why", other.why}};
    if (other.seconds) json["simulated_us"] = *other.seconds * us;
    if (other.at_least > 0) json["at_least_us"] = other.at_least * us;
    list.push_back(std::move(json));
  }
  return list;
}

Json row_json(const ChosenRow& row) {
  const PredictedChoice& choice = row.choice;
  Json json = {{"bytes", row.bytes},
               {"spec", choice.spec},
               {"simulated_us", choice.seconds * us},
               {"algbw", row.algorithm_bandwidth},
               {"busbw", row.bus_bandwidth},
               {"measured", choice.measured},
               {"limit", choice.limit},
               {"limit_share", choice.limit_share},
               {"why", choice.why},
               {"plans", choice.listed},
               {"plans_simulated", choice.simulated},
               {"others", others_json(choice)}};
  if (row.bytes < least_certain_bytes) json["known_within_a_factor_of"] = uncertainty_of_times;
  if (choice.bound_seconds > 0)
    json["bound"] = {{"us", choice.bound_seconds * us}, {"reason", choice.bound.told()}};
  if (row.nccl) {
    json["nccl"] = {{"pick", row.nccl->pick}, {"difference", row.nccl->difference}};
    if (row.nccl->seconds) json["nccl"]["simulated_us"] = *row.nccl->seconds * us;
  }
  return json;
}

}  // namespace

std::string choice_text(const ChoiceReport& report) {
  std::string text = machine_heading(*report.machine);
  text += fmt::format("{} of {}", describe(report.request), to_string(report.type));
  if (report.rows.size() != 1) return text + "\n\n" + table_text(report);
  return text + fmt::format(", {}: ", format_bytes(report.rows.front().bytes)) +
         row_text(report, report.rows.front());
}

std::string choice_json(const ChoiceReport& report) {
  Json rows = Json::array();
  for (const auto& row : report.rows) rows.push_back(row_json(row));
  return dump_json({{"kind", "simulated"},
                    {"machine", report.machine->name},
                    {"changes", report.machine->changes},
                    {"assumed", assumed_words(*report.machine)},
                    {"collective", to_string(report.request.collective)},
                    {"ranks", report.request.ranks},
                    {"root", report.request.root},
                    {"in_place", report.request.in_place},
                    {"type", to_string(report.type)},
                    {"gpus", report.gpus},
                    {"choices", std::move(rows)}});
}

}  // namespace ringside::cli
