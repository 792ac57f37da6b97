// SPDX-License-Identifier: MIT
#include "ringside/bench/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ringside/base/statistics.hpp"

namespace ringside::bench {
namespace {

/// The same measurement of the same row in all passes.
Timing merge_timings(const std::vector<const Timing*>& passes) {
  const auto collect = [&](double Timing::*member) {
    std::vector<double> values;
    for (const Timing* pass : passes) values.push_back(pass->*member);
    return values;
  };
  Timing merged = *passes.front();
  for (std::size_t i = 1; i < passes.size(); ++i) {
    const Timing& pass = *passes[i];
    merged.round_times.insert(merged.round_times.end(), pass.round_times.begin(),
                              pass.round_times.end());
    merged.round_medians.insert(merged.round_medians.end(), pass.round_medians.begin(),
                                pass.round_medians.end());
    merged.round_facts.insert(merged.round_facts.end(), pass.round_facts.begin(),
                              pass.round_facts.end());
    merged.iterations += pass.iterations;
  }
  merged.time = median(merged.round_times);
  merged.median = median(collect(&Timing::median));
  merged.minimum = minimum(collect(&Timing::minimum));
  merged.p95 = median(collect(&Timing::p95));
  merged.skew = median(collect(&Timing::skew));
  return merged;
}

}  // namespace

Report merge_passes(std::vector<Report> passes) {
  Report merged = passes.front();
  merged.end_time = passes.back().end_time;
  if (merged.nothing_measured()) return merged;
  for (std::size_t s = 0; s < merged.series.size(); ++s)
    for (std::size_t r = 0; r < merged.series[s].rows.size(); ++r)
      for (const Placement placement : placements) {
        auto& timing = merged.series[s].rows[r].timings[static_cast<std::size_t>(placement)];
        if (!timing) continue;
        std::vector<const Timing*> all;
        for (const auto& pass : passes)
          if (const auto& one = pass.series.at(s).rows.at(r).at(placement)) all.push_back(&*one);
        timing = merge_timings(all);
      }
  return merged;
}

Report run_passes(const BenchRequest& request, const SweepListener& listener) {
  const int passes = request.rounds;
  BenchRequest part = request;
  part.rounds = 1;
  part.time = request.time / static_cast<double>(passes);
  part.spread = false;
  if (request.iterations) part.iterations = (*request.iterations + passes - 1) / passes;

  std::vector<Report> reports;
  for (int pass = 0; pass < passes; ++pass) {
    part.check = request.check && pass == 0;
    SweepListener of_pass;
    of_pass.progress = [&](std::size_t done, std::size_t total, const std::string& what) {
      listener.progress(static_cast<std::size_t>(pass) * total + done,
                        static_cast<std::size_t>(passes) * total,
                        fmt::format("pass {}, {}", pass + 1, what));
    };
    reports.push_back(run_sweep(part, of_pass));
  }
  Report report = merge_passes(std::move(reports));
  report.request = request;
  return report;
}

}  // namespace ringside::bench
