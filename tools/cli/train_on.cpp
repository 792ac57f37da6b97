// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/train_on.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/progress.hpp"
#include "ringside/collectives/executors/simulated/uncertainty.hpp"
#include "ringside/collectives/selector/request_bounds.hpp"
#include "ringside/collectives/spec.hpp"
#include "ringside/tools/cli/call_options.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/tools/cli/output.hpp"
#include "ringside/tools/cli/train_on_report.hpp"

namespace ringside::cli {
namespace {

using trainer::PredictedTraining;
using trainer::StrategyKind;
using trainer::TrainingWay;

/// What one looks at first: the textbook's way, NCCL's two, one for boxes of several parts, and
/// what the library would take.
constexpr auto algorithms_by_default = "naive,double_tree,ring,hierarchical,auto";
constexpr int layers_by_default = 32;
/// Passes whose gradients are added up: the calls of each are listed.
constexpr std::size_t most_passes = 10'000;
constexpr std::string_view measured_word = "measured";

double positive(std::string_view option, const std::string& text, double most) {
  const auto number = parse_number(text);
  if (!number || !(*number > 0) || *number > most)
    reject(option, fmt::format("a number above 0, at most {}", most), text);
  return *number;
}

// --- what is trained -----------------------------------------------------------------------------

/// Of a model by name without --step-seconds: what was published.
trainer::DeviceSpeed published_for(const TrainOnArguments& a, const trainer::ModelSettings& model,
                                   double samples) {
  const bool of_usual_width =
      model.width == 0 || model.width == trainer::width_of({.model = model.model});
  const bool in_float32 = model.precision == ElementType::float32;
  const bool textbook = of_usual_width && in_float32;
  const auto* published =
      textbook ? trainer::published_speed(model.model, a.device_speed) : nullptr;
  if (published != nullptr) return trainer::speed_of(*published, samples);
  std::vector<std::string> names;
  for (const auto& each : trainer::published_speeds())
    if (textbook && each.model == model.model) names.emplace_back(each.name);
  const std::string what =
      fmt::format("{}{}{}", to_string(model.model), of_usual_width ? "" : " of that width",
                  in_float32 ? "" : fmt::format(" in {}", to_string(model.precision)));
  if (names.empty())
    throw Error(ErrorCode::bad_input,
                fmt::format("no step of {} was published: say --step-seconds (or measured)", what));
  throw Error(ErrorCode::bad_input, fmt::format("--device-speed: of {} there are {}, not {}", what,
                                                fmt::join(names, ", "), quote(a.device_speed)));
}

/// Sets the speed, and where it is measured when gradients are ready.
void set_speed(const TrainOnArguments& a, const trainer::ModelSettings& model,
               PredictedTraining& training) {
  constexpr std::string_view expected = "seconds such as 1.2 or 52ms, or measured";
  const bool by_size = !a.parameters.empty();
  if (a.step_seconds.empty()) {
    if (by_size) throw Error(ErrorCode::bad_input, "--parameters needs --step-seconds");
    training.speed = published_for(a, model, training.samples);
  } else if (a.step_seconds != measured_word) {
    training.speed.seconds = positive_time("--step-seconds", a.step_seconds, expected).count();
    training.speed.source = "as told";
  } else if (by_size) {
    throw Error(ErrorCode::bad_input, "--step-seconds measured needs a --model that there is");
  } else {
    const auto engine = trainer::engine_for(model.model);
    auto measured =
        trainer::measure_here(*engine, model, static_cast<std::size_t>(training.samples));
    training.speed = std::move(measured.speed);
    training.profile.ready = std::move(measured.ready);
    training.profile.how = "measured here, by hooks";
  }
  auto& speed = training.speed;
  if (!a.backward_share.empty())
    speed.backward_share = positive("--backward-share", a.backward_share, 1);
  if (a.fixed_seconds.empty()) return;
  const auto fixed = parse_duration(a.fixed_seconds);  // which is never negative
  if (!fixed) reject("--fixed-seconds", "seconds such as 0.01 or 10ms", a.fixed_seconds);
  speed.fixed = fixed->count();
  if (speed.fixed > speed.seconds)
    throw Error(ErrorCode::bad_input,
                fmt::format("--fixed-seconds: {} is more than the whole step of {}",
                            a.fixed_seconds, format_duration(Seconds(speed.seconds))));
}

PredictedTraining training_of(const TrainOnArguments& a, const TrainOnCommon& common,
                              const Given& given) {
  const auto& settings = common.settings;
  PredictedTraining training;
  training.type = settings.model.precision;
  if (settings.pieces > most_passes)
    throw Error(ErrorCode::bad_input, fmt::format("--accumulate: at most {} with --on, got {}",
                                                  most_passes, settings.pieces));
  training.passes = settings.pieces;
  training.narrow_wire = settings.strategy.narrow_wire;
  training.buckets = settings.strategy.buckets;
  training.overlap = settings.strategy.overlap;
  training.zero_stage = settings.strategy.zero_stage;
  training.split = a.strong;
  if (a.parameters.empty()) {
    training.samples = static_cast<double>(settings.batch);
    training.profile = trainer::profile_of(settings.model, settings.batch);
  } else {
    if (given("batch")) training.samples = static_cast<double>(settings.batch);
    const auto layers = a.layers.empty()
                            ? layers_by_default
                            : static_cast<int>(whole_number("--layers", a.layers, 1, 100'000));
    training.profile = trainer::even_profile(parameters_in("--parameters", a.parameters), layers);
  }
  set_speed(a, settings.model, training);
  return training;
}

// --- by which ways -------------------------------------------------------------------------------

/// The first is one device. Throws for what cannot be predicted.
std::vector<TrainingWay> ways_of(const TrainOnCommon& common, int gpus) {
  std::vector<std::string> algorithms =
      split_specs(!common.algorithms.empty() ? common.algorithms : algorithms_by_default);
  std::replace(algorithms.begin(), algorithms.end(), std::string("auto"), std::string());
  const std::vector<StrategyKind> kinds =
      common.kinds.empty() ? std::vector{StrategyKind::data_parallel, StrategyKind::from_scratch,
                                         StrategyKind::distributed, StrategyKind::sharded}
                           : common.kinds;
  std::vector<TrainingWay> ways = {{}};
  for (const int ranks : common.ranks.empty() ? std::vector{gpus} : common.ranks) {
    if (ranks > gpus)
      throw Error(ErrorCode::bad_input,
                  fmt::format("--ranks: {} ranks on {} GPU{}: a rank is a GPU here", ranks, gpus,
                              gpus == 1 ? "" : "s"));
    if (ranks == 1) continue;
    for (const auto& algorithm : algorithms)
      if (!algorithm.empty() && algorithm != trainer::nccl_word)
        check_spec(algorithm, {Collective::all_reduce, ranks, 0, true});
    for (const StrategyKind kind : kinds) {
      if (kind == StrategyKind::single) continue;
      if (!trainer::can_predict(kind))
        throw Error(ErrorCode::bad_input,
                    fmt::format("--strategy: {} cannot be predicted", to_string(kind)));
      // Their collectives are others, which few all-reduces are made for.
      if (kind == StrategyKind::data_parallel || kind == StrategyKind::sharded)
        ways.push_back({kind, {}, ranks});
      else
        for (const auto& algorithm : algorithms) ways.push_back({kind, algorithm, ranks});
    }
  }
  return ways;
}

// --- predicting ----------------------------------------------------------------------------------

/// Where small calls count, how far their times may be off.
std::optional<StepRange> range_of(const Machine& machine, const PredictedTraining& training,
                                  const trainer::PredictedRow& row) {
  if (row.step.small == 0) return std::nullopt;
  const auto with_times = [&](double factor) {
    const Machine scaled = with_times_scaled(machine, factor);
    trainer::CallTimes times(scaled);
    return trainer::predict(times, training, row.way).step.seconds();
  };
  return StepRange{with_times(1 / uncertainty_of_times), with_times(uncertainty_of_times)};
}

TrainOnReport predicted(const ChosenMachine& chosen, PredictedTraining training,
                        const std::vector<TrainingWay>& ways) {
  const Machine& machine = chosen.machine;
  TrainOnReport report;
  report.machine = &chosen;
  report.training = std::move(training);
  trainer::CallTimes times(machine);
  bench::Progress progress;
  for (const TrainingWay& way : ways) {
    progress.show(report.rows.size(), ways.size(),
                  fmt::format("{}, {}", to_string(way.kind), trainer::algorithm_name(way)));
    report.rows.push_back(trainer::predict(times, report.training, way));
  }
  if (const auto* best = trainer::best_of(report.rows)) {
    report.what_ifs = trainer::what_ifs(times, report.training, best->way);
    report.range = range_of(machine, report.training, *best);
    report.explanation = trainer::explanation(report.training, report.rows, report.what_ifs);
  }
  std::vector<int> gpus(static_cast<std::size_t>(machine.gpus()));
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) gpus[gpu] = static_cast<int>(gpu);
  report.through_host = any_through_host(machine, gpus);
  progress.erase();
  return report;
}

}  // namespace

void add_train_on_options(CLI::App& command, TrainOnArguments& a) {
  const WordOptions add(command);
  a.machine.topology_option = "--on";
  a.machine.model_option = "--link-model";
  command
      .add_option("--on", a.machine.topology,
                  "Train nothing: predict the speedups on this machine, a preset or files that "
                  "describe one (see ringside topo). --batch is then what a device computes at a "
                  "time, --accumulate so many of these before gradients travel; --algorithm nccl "
                  "is NCCL's rings")
      ->type_name("PRESET|FILE");
  add("--parameters", a.parameters, "N",
      "--on: a model of that size (7e9, 350M) instead of --model");
  add("--layers", a.layers, "N",
      fmt::format("--parameters: of so many layers that are alike (default: {})",
                  layers_by_default));
  add("--step-seconds", a.step_seconds, "TIME",
      "--on: what one device takes for its batch, without communication (1.2, 52ms), or measured: "
      "on this CPU, now (default: --device-speed)");
  std::vector<std::string_view> names;
  for (const auto& each : trainer::published_speeds())
    if (std::find(names.begin(), names.end(), each.name) == names.end()) names.push_back(each.name);
  add("--device-speed", a.device_speed, "NAME",
      fmt::format("--on: of a published run: {} (default: {})", fmt::join(names, ", "),
                  names.front()));
  add("--backward-share", a.backward_share, "F",
      "--on: the backward pass's part of that time (default: 2/3)");
  add("--fixed-seconds", a.fixed_seconds, "TIME",
      "--on: what of it does not become less with the samples: launches, loading (default: 0, or "
      "as "
      "published)");
  add_switch(command, "--strong", a.strong,
             "--on: all devices share one device's batch (default: each has one)");
  add("--link-model", a.machine.model, "CLASS|FILE",
      "--on: link model (default: the class that fits the machine)");
  add_change_options(command, a.machine);
}

bool is_prediction(const TrainOnArguments& a, const Given& given) {
  if (!given("on")) {
    refuse(given,
           {"parameters", "layers", "step-seconds", "device-speed", "backward-share",
            "fixed-seconds", "strong", "link-model", "what-if"},
           "without --on");
    for (const auto& figure : a.machine.figures) set_option(figure);  // which says what is wrong
    return false;
  }
  refuse(given, {"checkpoint",   "checkpoint-steps", "resume",     "epochs",   "steps",
                 "lr",           "no-scaling",       "warmup",     "momentum", "decay",
                 "data",         "synthetic",        "samples",    "seed",     "threads",
                 "prefetch",     "no-evaluation",    "batch-norm", "shares",   "slow-ranks",
                 "backend",      "devices",          "slow-wire",  "compare",  "rounds",
                 "warmup-steps", "micro-batches"},
         "with --on: nothing is trained");
  if (given("parameters")) refuse(given, {"model", "width", "device-speed"}, "with --parameters");
  if (!given("parameters")) refuse(given, {"layers"}, "without --parameters");
  if (given("step-seconds")) refuse(given, {"device-speed"}, "with --step-seconds");
  return true;
}

void train_on(const TrainOnArguments& a, const TrainOnCommon& common, const Given& given) {
  const auto has = [&kinds = common.kinds](StrategyKind kind) {
    return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  if (!has(StrategyKind::distributed) && !has(StrategyKind::from_scratch))
    refuse(given, {"algorithm"}, "with --on but for from_scratch and distributed");
  if (!has(StrategyKind::sharded)) {
    refuse(given, {"zero-stage"}, "with --on but for sharded");
    if (!has(StrategyKind::distributed))
      refuse(given, {"bucket", "first-bucket", "no-overlap"},
             "with --on but for distributed and sharded");
  }
  const ChosenMachine chosen = chosen_machine(a.machine);
  const auto ways = ways_of(common, chosen.machine.gpus());
  const auto report = predicted(chosen, training_of(a, common, given), ways);
  print(common.format == "json" ? train_on_json(report) : train_on_text(report));
}

}  // namespace ringside::cli
