// SPDX-License-Identifier: MIT
/// `ringside train`: a training run, a comparison (train_compare.hpp) or a prediction
/// (train_on.hpp).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/bench/interruption.hpp"
#include "ringside/bench/progress.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/tools/cli/output.hpp"
#include "ringside/tools/cli/train_arguments.hpp"
#include "ringside/tools/cli/train_checks.hpp"
#include "ringside/tools/cli/train_compare.hpp"
#include "ringside/tools/cli/train_on.hpp"
#include "ringside/trainer/report.hpp"
#include "ringside/trainer/training.hpp"

namespace ringside::cli {
namespace {

using trainer::StrategyKind;
using trainer::TrainingSettings;

/// A resumed run that is another training than its checkpoint's says so.
void warn_of_changes(const TrainingSettings& settings, const trainer::Dataset& data) {
  const auto changes = trainer::changes_since_checkpoint(settings, data);
  if (!changes.empty())
    fmt::print(stderr, "ringside: warning: this is another training than the checkpoint's: {}\n",
               fmt::join(changes, "; "));
}

/// Shows how far training is, and prints each epoch when it is over.
class Narrator final : public trainer::Observer {
 public:
  explicit Narrator(bool prints) : prints_(prints) {}

  void after_step(std::int64_t done, std::int64_t of, std::size_t samples) override {
    samples_ += samples;
    constexpr Seconds often{0.1};
    if (!progress_.wanted() || (since_shown_.elapsed() < often && done != of)) return;
    (void)since_shown_.restart();
    const double elapsed = since_start_.elapsed().count();
    const double left = elapsed * static_cast<double>(of - done) / static_cast<double>(done);
    progress_.show(static_cast<std::size_t>(done), static_cast<std::size_t>(of),
                   fmt::format("{:.0f} samples/s, {} left", static_cast<double>(samples_) / elapsed,
                               format_duration(Seconds(left))));
  }
  void after_epoch(const trainer::EpochReport& report) override {
    progress_.erase();
    if (!prints_) return;
    print(trainer::table_row(report));
    flush();
  }

 private:
  bool prints_;
  bench::Progress progress_;
  Stopwatch since_start_, since_shown_;
  std::size_t samples_ = 0;
};

/// Trains, and tells of it while it goes on and at the end.
void narrate(World& world, trainer::Engine& engine, const trainer::Dataset& data,
             const TrainingSettings& settings, bool text) {
  if (world.first_rank_here() != 0) {  // the first process tells
    Narrator nothing(false);
    (void)trainer::train(world, engine, data, settings, nothing);
    return;
  }
  warn_of_changes(settings, data);
  if (text) {
    print(trainer::title(settings, data, world.size(), engine.facts()) + trainer::table_head());
    flush();
  }
  Narrator narrator(text);
  const auto reports = trainer::train(world, engine, data, settings, narrator);
  if (!text) {
    print(trainer::json_report(settings, data, world.size(), engine.facts(), reports));
    return;
  }
  if (!reports.empty()) print(trainer::rank_table(reports.back()));
  print(trainer::balance_table(settings, reports));
  print(trainer::summary(reports, settings.model.seed));
}

void train(const TrainArguments& a, const Given& given) {
  TrainingSettings settings = settings_of(a);
  auto ranks = a.ranks.empty() ? std::vector{std::min(2, allowed_cpu_count())} : ranks_of(a.ranks);
  if (ranks.size() != 1)
    throw Error(ErrorCode::bad_input, "--ranks: one number (several with --compare)");
  const bool on_processes = settings.backend.kind == trainer::BackendKind::mpi;
  if (on_processes && !a.ranks.empty())
    throw Error(ErrorCode::bad_input, "--ranks: with --backend mpi mpirun says how many");
  const auto algorithms = algorithms_of(a.algorithm);
  if (algorithms.size() != 1)
    throw Error(ErrorCode::bad_input, "--algorithm: one spec (several with --compare)");
  settings.strategy.algorithm = algorithms[0];
  // Before a process waits for others: it may find nothing.
  const auto engine = trainer::engine_for(settings.model.model);
  const auto data = data_of(a, settings.model.seed);
  std::optional<World> processes;
  if (on_processes) {
    processes = World::mpi();
    ranks = {processes->size()};
  }
  settings.strategy.kind = a.strategy.empty()
                               ? (ranks[0] == 1 ? StrategyKind::single : StrategyKind::distributed)
                               : kind_of(a.strategy);
  check_meaning(a.compare, given, settings, {settings.strategy.kind});
  check_algorithm(settings.strategy, ranks[0], settings.backend);

  World world = processes ? std::move(*processes) : trainer::make_world(settings.backend, ranks[0]);
  trainer::check(settings, data, world);
  narrate(world, *engine, data, settings, a.format == "text");
}

void run(const TrainArguments& a, const Given& given) {
  warn_of_unknown_variables();
  bench::clean_up_on_signals();
  (void)trainer::keep_freed_memory();
  if (is_prediction(a.on, given)) {
    train_on(a.on,
             {.settings = settings_of(a),
              .kinds = a.strategy.empty() ? std::vector<StrategyKind>() : kinds_of(a),
              .ranks = a.ranks.empty() ? std::vector<int>() : ranks_of(a.ranks),
              .algorithms = given("algorithm") ? a.algorithm : "",
              .format = a.format},
             given);
  } else if (a.compare) {
    train_compare(a, given);
  } else {
    train(a, given);
  }
}

}  // namespace

void add_train_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("train", "Train LeNet or ResNet-18 data-parallel, by any collective");
  const auto arguments = std::make_shared<TrainArguments>();
  add_train_options(*command, *arguments);
  command->footer(
      "Models and settings are those of \"Dive into Deep Learning\" 12.5 and 12.6. A step's batch "
      "is cut evenly over the ranks, or by --shares; the last step of an epoch takes what is left, "
      "so that every "
      "sample comes once. Exit code 2 if training fails: "
      "the last checkpoint stays.");
  command->callback([command, arguments] { run(*arguments, given_on(*command)); });
}

}  // namespace ringside::cli
