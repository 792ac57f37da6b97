// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/train_compare.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/bench/progress.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/tools/cli/output.hpp"
#include "ringside/trainer/compare.hpp"
#include "ringside/trainer/report.hpp"
#include "ringside/trainer/shares.hpp"
#include "ringside/trainer/strategies/split.hpp"

namespace ringside::cli {
namespace {

using trainer::Contender;
using trainer::StrategyKind;
using trainer::TrainingSettings;

/// One rank, then every strategy on so many ranks, by every algorithm. The one has the whole batch,
/// and nothing slows it.
std::vector<Contender> contenders_of(const TrainArguments& a, const TrainingSettings& settings,
                                     const std::vector<StrategyKind>& kinds) {
  Contender one{1, settings.strategy};
  one.strategy.kind = StrategyKind::single;
  one.strategy.shares.clear();
  one.strategy.slow_ranks.clear();
  std::vector<Contender> contenders = {one};
  for (const int ranks : ranks_of(a.ranks.empty() ? "2" : a.ranks))
    for (const StrategyKind kind : kinds) {
      if (kind == StrategyKind::single) continue;
      for (const auto& algorithm : algorithms_of(a.algorithm)) {
        Contender contender{ranks, settings.strategy};
        contender.strategy.kind = kind;
        // Others reduce to one rank, which few algorithms are made for, or sum no gradients.
        const bool by_algorithm = kind != StrategyKind::data_parallel && !splits_network(kind);
        contender.strategy.algorithm = by_algorithm ? algorithm : "";
        trainer::check_split(kind, settings.model, ranks);
        trainer::check_speeds(contender.strategy.shares, contender.strategy.slow_ranks, ranks);
        check_algorithm(contender.strategy, ranks, settings.backend);
        contenders.push_back(contender);
        if (!by_algorithm) break;
      }
    }
  return contenders;
}

}  // namespace

void train_compare(const TrainArguments& a, const Given& given) {
  TrainingSettings settings = settings_of(a);
  if (settings.backend.kind == trainer::BackendKind::mpi)
    throw Error(ErrorCode::bad_input,
                "--compare: the number of ranks changes, which --backend mpi cannot");
  if (settings.measured_shares)
    throw Error(ErrorCode::bad_input,
                "--shares measured: not with --compare, whose turns are too short for it");
  const auto kinds = kinds_of(a);
  check_meaning(a.compare, given, settings, kinds);
  constexpr std::int64_t steps_by_default = 30;
  settings.untimed_steps =
      static_cast<std::int64_t>(count_of("--warmup-steps", a.warmup_steps, 1, 1'000'000));
  settings.steps = settings.steps.value_or(steps_by_default) + settings.untimed_steps;
  settings.epochs = 1;
  settings.evaluate = false;
  const auto rounds = static_cast<int>(count_of("--rounds", a.rounds, 1, 1000));
  const auto contenders = contenders_of(a, settings, kinds);
  const auto engine = trainer::engine_for(settings.model.model);
  const auto data = data_of(a, settings.model.seed);
  bench::Progress progress;
  const auto comparison =
      trainer::compare(*engine, data, settings, contenders, rounds,
                       [&](std::size_t done, std::size_t of, const std::string& what) {
                         progress.show(done, of, what);
                       });
  progress.erase();
  if (a.format == "json") {
    print(trainer::comparison_json(comparison, settings, data, engine->facts()));
    return;
  }
  settings.strategy = contenders.front().strategy;
  print(trainer::title(settings, data, 1, engine->facts()) + trainer::comparison_table(comparison));
}

}  // namespace ringside::cli
