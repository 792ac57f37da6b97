// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/train_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/spec.hpp"
#include "ringside/tools/cli/call_options.hpp"

namespace ringside::cli {

using trainer::StrategyKind;

namespace {

bool serves(const std::string& spec, const Request& request) {
  try {
    check_spec(spec, request);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void check_meaning(bool compare, const Given& given, const trainer::TrainingSettings& settings,
                   const std::vector<StrategyKind>& kinds) {
  if (compare)
    refuse(given, {"epochs", "no-evaluation", "checkpoint", "checkpoint-steps", "resume"},
           "with --compare");
  else
    refuse(given, {"rounds", "warmup-steps"}, "without --compare");
  std::vector<std::string_view> names;
  for (const StrategyKind kind : kinds) names.push_back(to_string(kind));
  const auto with =
      fmt::format("with {}--strategy {}", compare ? "--compare " : "", fmt::join(names, ","));
  const auto none_but = [&kinds](std::initializer_list<StrategyKind> these) {
    return std::all_of(kinds.begin(), kinds.end(), [&](StrategyKind kind) {
      return std::find(these.begin(), these.end(), kind) != these.end();
    });
  };
  using enum StrategyKind;
  if (none_but({single, data_parallel, from_scratch, pipeline, tensor}))
    refuse(given, {"bucket", "first-bucket", "no-overlap"}, with);
  if (none_but({single})) refuse(given, {"slow-wire", "batch-norm", "slow-ranks"}, with);
  if (none_but({single, pipeline, tensor}))
    refuse(given, {"algorithm", "wire-type", "shares"}, with);
  if (none_but({single, data_parallel, from_scratch, distributed, pipeline, tensor}))
    refuse(given, {"zero-stage"}, with);
  if (none_but({single, data_parallel, from_scratch, distributed, sharded, tensor}))
    refuse(given, {"micro-batches"}, with);
  if (!has_batch_norm(settings.model.model))
    refuse(given, {"batch-norm"},
           fmt::format("with --model {}: it has no batch norms", to_string(settings.model.model)));
  if (compare && none_but({single, data_parallel, pipeline, tensor}))
    refuse(given, {"algorithm"}, with);
  if (settings.backend.kind == trainer::BackendKind::nccl)
    refuse(given, {"algorithm"}, "with --backend nccl: NCCL chooses by itself");
}

void check_algorithm(const trainer::StrategySettings& strategy, int ranks,
                     const trainer::BackendSettings& backend) {
  const std::string& spec = strategy.algorithm;
  if (spec.empty()) return;
  if (!is_plan_file(spec)) (void)find_algorithm(parse_spec(spec).name);
  // One rank sends nothing; where processes run, their hosts may shape an algorithm.
  if (ranks == 1 || backend.kind == trainer::BackendKind::mpi) return;
  Request request{trainer::what_sums(strategy.kind), ranks, 0, true};
  try {
    check_spec(spec, request);
  } catch (const Error& error) {
    request.in_place = false;
    if (!is_plan_file(spec) || !serves(spec, request)) throw;
    throw Error(error.code(), fmt::format("{}; gradients are summed in place: `ringside plan ... "
                                          "--in-place` makes plans for that",
                                          error.what()));
  }
}

}  // namespace ringside::cli
