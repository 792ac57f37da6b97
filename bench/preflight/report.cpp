// SPDX-License-Identifier: MIT
#include "ringside/bench/preflight/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "ringside/base/text.hpp"

namespace ringside::bench::preflight {
namespace {

/// "peer copy", "kernel store"
std::string words(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

/// What a fault is known by: it shows in several sizes, and again in rings and all to all.
struct Fault {
  std::string kind;
  Flow flow;
  std::string traffic;  ///< only where no single flow is to blame
  Method method;
  bool peer_access;

  auto operator<=>(const Fault&) const =
      default;  // NOLINT(modernize-use-nullptr): of clang-tidy 14
};

class Collector {
 public:
  void start_failure(const StartFailure& failure) {
    findings.push_back(
        {.kind = failure.ending == Ending::no_time ? "unfinished"
                                                   : std::string(to_string(failure.ending)),
         .flow = std::nullopt,
         .step = std::nullopt,
         .device = failure.device,
         .text = fmt::format("{}: {}",
                             failure.device ? fmt::format("device {}", *failure.device) : "driver",
                             failure.text)});
  }

  void result(const Result& result) {
    const auto& [step, outcome] = result;
    if (outcome.ending == Ending::hang || outcome.ending == Ending::error)
      return add(step, std::string(to_string(outcome.ending)),
                 step.flows.size() == 1 ? std::optional(step.flows.front()) : std::nullopt,
                 outcome.text);
    for (std::size_t i = 0; i < outcome.verdicts.size(); ++i)
      if (const auto& verdict = outcome.verdicts[i]; verdict.arrival != Arrival::right)
        add(step, std::string(to_string(verdict.arrival)), step.flows.at(i),
            described(step, verdict));
  }

  std::vector<Finding> findings;

 private:
  static std::string described(const Step& step, const Verdict& verdict) {
    auto text = describe(verdict);
    if (verdict.arrival == Arrival::misplaced && verdict.foreign_tag < step.flows.size())
      text += fmt::format(", which {} carried", to_string(step.flows[verdict.foreign_tag]));
    return text;
  }

  void add(const Step& step, std::string kind, std::optional<Flow> flow, const std::string& text) {
    const Fault fault{kind, flow.value_or(Flow{}),
                      flow ? std::string() : std::string(to_string(step.traffic)), step.method,
                      step.peer_access};
    if (!known_.insert(fault).second) return;
    const bool alone = step.flows.size() == 1;
    const auto place = flow ? to_string(*flow) : words(to_string(step.traffic));
    const auto together =
        flow && !alone ? fmt::format(" (in {})", words(to_string(step.traffic))) : "";
    findings.push_back({.kind = std::move(kind),
                        .flow = flow,
                        .step = step,
                        .device = std::nullopt,
                        .text = fmt::format("{}, {}{}{}: {}", place, words(to_string(step.method)),
                                            access_words(step), together, text)});
  }

  std::set<Fault> known_;
};

bool is_check(const Result& result) { return result.step.quantity == Quantity::check; }

bool was_left_out(const Result& result) {
  return result.outcome.ending == Ending::no_time || result.outcome.ending == Ending::no_memory;
}

}  // namespace

std::vector<Finding> findings_of(const Report& report) {
  Collector collector;
  for (const auto& failure : report.start_failures) collector.start_failure(failure);
  for (const auto& result : report.results) collector.result(result);
  std::size_t checks = 0, left_out = 0;
  std::string reason;
  for (const auto& result : report.results) {
    if (!is_check(result)) continue;
    ++checks;
    if (!was_left_out(result)) continue;
    if (left_out++ == 0) reason = result.outcome.text;
  }
  if (left_out > 0)
    collector.findings.push_back(
        {.kind = "unfinished",
         .flow = std::nullopt,
         .step = std::nullopt,
         .device = std::nullopt,
         .text = fmt::format("{} of {} checks were not made: {}", left_out, checks, reason)});
  return std::move(collector.findings);
}

std::size_t checks_done(const Report& report) {
  std::size_t done = 0;
  for (const auto& result : report.results)
    if (is_check(result) && result.outcome.ending == Ending::done)
      done += result.outcome.verdicts.size();
  return done;
}

double total_rate(const Result& result) {
  const auto flows = static_cast<double>(result.outcome.times.size());
  return flows * rate(result.outcome.bytes, result.outcome.together);
}

}  // namespace ringside::bench::preflight
