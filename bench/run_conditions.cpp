// SPDX-License-Identifier: MIT
#include "ringside/bench/run_conditions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside::bench {
namespace {

std::string buffers_of(const BenchRequest& request) {
  if (request.buffers == Buffers::cold && request.cold_bytes)
    return fmt::format("{}:{}", to_string(request.buffers), format_size(*request.cold_bytes));
  return std::string(to_string(request.buffers));
}

/// With what its calls depend on.
std::string backend_of(const BenchRequest& request) {
  std::string text(to_string(request.backend));
  if (!runs_on_gpus(request.backend)) return text;
  return text + fmt::format(" on GPUs {}, {} with copies={}", fmt::join(request.gpus.devices, ","),
                            fmt::join(request.gpus.issue, "+"),
                            fmt::join(request.gpus.copies, "+"));
}

void refuse_if_differs(const char* what, const std::string& old_value,
                       const std::string& new_value) {
  if (old_value == new_value) return;
  throw Error(ErrorCode::bad_input,
              fmt::format("these runs cannot be compared: {} {} in the old one and {} in the new "
                          "one",
                          what, old_value, new_value));
}

const char* yes_no(bool value) { return value ? "yes" : "no"; }

std::vector<std::string> differing_options(const MeasuredRun& old_run, const MeasuredRun& new_run) {
  std::vector<std::string> lines;
  for (const auto* run : {&old_run, &new_run})
    if (!run->options)
      lines.push_back(fmt::format("{} does not say its options", quote(run->name)));
  if (!lines.empty()) return lines;
  std::set<std::string> names;
  for (const auto* run : {&old_run, &new_run})
    for (const auto& [name, value] : *run->options) names.insert(name);
  const auto value_in = [](const MeasuredRun& run, const std::string& name) {
    const auto found = run.options->find(name);
    return found == run.options->end() ? std::string("its default") : quote(found->second);
  };
  for (const auto& name : names) {
    const auto before = value_in(old_run, name);
    const auto now = value_in(new_run, name);
    if (before != now)
      lines.push_back(fmt::format("the option {} was {}, now {}", quote(name), before, now));
  }
  return lines;
}

}  // namespace

void check_same_conditions(const MeasuredRun& old_run, const MeasuredRun& new_run) {
  const auto& old_request = old_run.request;
  const auto& new_request = new_run.request;
  refuse_if_differs("--backend", backend_of(old_request), backend_of(new_request));
  refuse_if_differs("--buffers", buffers_of(old_request), buffers_of(new_request));
  refuse_if_differs("--exact-counts", yes_no(old_request.exact_counts),
                    yes_no(new_request.exact_counts));
  refuse_if_differs("--pin", yes_no(old_request.pin), yes_no(new_request.pin));
}

std::vector<std::string> differing_conditions(const MeasuredRun& old_run,
                                              const MeasuredRun& new_run) {
  std::vector<std::string> lines;
  const auto compare = [&](const char* what, const std::string& before, const std::string& now) {
    if (before != now)
      lines.push_back(fmt::format("{} was {}, now {}", what, quote(before), quote(now)));
  };
  compare("the GPUs", old_run.gpus, new_run.gpus);
  if (old_run.processor != new_run.processor)
    lines.emplace_back("these are two machines, not two programs, that are compared");
  compare("the number of cores", fmt::format("{}", old_run.cores),
          fmt::format("{}", new_run.cores));
  compare("the version", old_run.version, new_run.version);
  compare("the compiler", old_run.compiler, new_run.compiler);
  compare("the set of kernels", old_run.kernels, new_run.kernels);
  for (auto& line : differing_options(old_run, new_run)) lines.push_back(std::move(line));
  for (const auto* run : {&old_run, &new_run})
    if (!run->request.check)
      lines.push_back(fmt::format("the results of {} were not checked", quote(run->name)));
  return lines;
}

}  // namespace ringside::bench
