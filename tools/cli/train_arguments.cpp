// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/train_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/spec.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/trainer/shares.hpp"

namespace ringside::cli {
namespace {

using trainer::StrategyKind;
using trainer::TrainingSettings;

constexpr int most_ranks = 256;  // threads of a World
constexpr int most_epochs = 1'000'000;
constexpr std::int64_t most_micro_batches = 4096;
/// Where buckets are cut within tensors (stage 2 of sharded), ResNet-18 has 44,000 of these in
/// every step; of single numbers it would have 11 million.
constexpr std::uint64_t least_bucket = 1024;
/// Bytes a second. At this rate LeNet's gradients take four seconds of every step.
constexpr std::uint64_t least_wire = 64 << 10;
constexpr double largest_number = 1e300;

double number_of(std::string_view option, const std::string& text, double least, bool or_equal,
                 double most = largest_number) {
  const auto number = parse_number(text);
  const bool fits = number && *number >= least && *number <= most;  // which no NaN is
  if (!fits || (!or_equal && *number == least))
    reject(option,
           fmt::format("a number {} {}{}", or_equal ? "of at least" : "above", least,
                       most < largest_number ? fmt::format(", at most {}", most) : ""),
           text);
  return *number;
}

std::uint64_t bytes_of(std::string_view option, const std::string& text, std::uint64_t least) {
  const auto bytes = size_in_bytes(option, text);
  if (bytes < least) reject(option, fmt::format("at least {}", format_bytes(least)), text);
  return bytes;
}

/// Our words for "auto" is to say nothing.
std::string algorithm_of(const std::string& spec) { return spec == "auto" ? "" : spec; }

trainer::BackendSettings backend_of(const TrainArguments& a) {
  trainer::BackendSettings backend;
  const auto kind = trainer::parse_backend(a.backend);
  if (!kind) reject("--backend", "host, cuda, nccl or mpi", a.backend);
  backend.kind = *kind;
  if (a.devices.empty()) return backend;
  if (!runs_on_gpus(backend.kind))
    throw Error(ErrorCode::bad_input, "--devices needs --backend cuda or nccl");
  for (const auto word : split(a.devices, ','))
    backend.devices.push_back(static_cast<int>(whole_number("--devices", word, 0, 4095)));
  return backend;
}

trainer::ModelSettings model_of(const TrainArguments& a) {
  trainer::ModelSettings model;
  model.model = one_of("--model", a.model, &trainer::parse_model, trainer::model_names());
  if (!a.width.empty()) model.width = static_cast<int>(count_of("--width", a.width, 1, 4096));
  const auto precision = parse_element_type(a.precision);
  if (precision != ElementType::float32 && precision != ElementType::float64)
    reject("--precision", "float32 or float64", a.precision);
  model.precision = *precision;
  model.seed = count_of("--seed", a.seed, 0, std::numeric_limits<std::int64_t>::max());
  trainer::check(model);
  return model;
}

/// The textbook's rate is for 256 samples; a batch of another size is learned from at a rate in
/// proportion (Goyal and others), and a warm-up begins where nothing was scaled.
void set_rates(const TrainArguments& a, TrainingSettings& settings) {
  constexpr double textbook_batch = 256;
  const double base = a.rate.empty() ? trainer::textbook_rate(settings.model.model)
                                     : number_of("--lr", a.rate, 0, false);
  const double scale = static_cast<double>(settings.batch) / textbook_batch;
  settings.rate = a.no_scaling ? base : base * scale;
  settings.warmup_from = settings.rate > base ? base : 0;
  if (!a.warmup.empty())
    settings.warmup_epochs = number_of("--warmup", a.warmup, 0, true, most_epochs);
}

/// Who is how fast and has how much of a batch.
void set_shares(const TrainArguments& a, TrainingSettings& settings) {
  auto& strategy = settings.strategy;
  settings.measured_shares = a.shares == "measured";
  if (!a.shares.empty() && !settings.measured_shares)
    for (const auto word : split(a.shares, ','))
      strategy.shares.push_back(whole_number("--shares", word, 1, trainer::largest_share));
  if (a.slow_ranks.empty()) return;
  for (const auto word : split(a.slow_ranks, ','))
    strategy.slow_ranks.push_back(number_of("--slow-ranks", std::string(word), 1, true, 1000));
}

void set_strategy(const TrainArguments& a, trainer::StrategySettings& strategy) {
  if (a.wire_type != "gradients" && a.wire_type != "bfloat16")
    reject("--wire-type", "gradients or bfloat16", a.wire_type);
  strategy.narrow_wire = a.wire_type == "bfloat16";
  if (!a.bucket.empty()) strategy.buckets.bytes = bytes_of("--bucket", a.bucket, least_bucket);
  if (!a.first_bucket.empty())
    strategy.buckets.first_bytes = bytes_of("--first-bucket", a.first_bucket, least_bucket);
  strategy.overlap = !a.no_overlap;
  if (!a.zero_stage.empty())
    strategy.zero_stage = static_cast<int>(count_of("--zero-stage", a.zero_stage, 1, 2));
  if (!a.micro_batches.empty())
    strategy.micro_batches = count_of("--micro-batches", a.micro_batches, 1, most_micro_batches);
}

void set_checkpoints(const TrainArguments& a, TrainingSettings& settings) {
  settings.checkpoint = a.checkpoint;
  if (!a.checkpoint_steps.empty()) {
    if (a.checkpoint.empty())
      throw Error(ErrorCode::bad_input, "--checkpoint-steps needs --checkpoint FILE");
    settings.checkpoint_steps =
        static_cast<std::int64_t>(count_of("--checkpoint-steps", a.checkpoint_steps, 1));
  }
  if (!a.resume.empty())
    settings.resume = std::make_shared<trainer::Checkpoint>(trainer::load_checkpoint(a.resume));
}

}  // namespace

std::size_t count_of(std::string_view option, const std::string& text, std::int64_t least,
                     std::int64_t most) {
  return static_cast<std::size_t>(whole_number(option, text, least, most));
}

std::vector<int> ranks_of(const std::string& text) {
  std::vector<int> ranks;
  for (const auto word : split(text, ','))
    ranks.push_back(static_cast<int>(whole_number("--ranks", word, 1, most_ranks)));
  return ranks;
}

std::vector<std::string> algorithms_of(const std::string& text) {
  std::vector<std::string> algorithms;
  for (const auto& spec : split_specs(text)) {
    (void)parse_spec(spec);
    algorithms.push_back(algorithm_of(spec));
  }
  return algorithms;
}

StrategyKind kind_of(const std::string& word) {
  return one_of("--strategy", word, &trainer::parse_strategy, trainer::strategy_names());
}

std::vector<StrategyKind> kinds_of(const TrainArguments& a) {
  if (a.strategy.empty())
    return {StrategyKind::data_parallel, StrategyKind::from_scratch, StrategyKind::distributed};
  std::vector<StrategyKind> kinds;
  for (const auto word : split(a.strategy, ',')) kinds.push_back(kind_of(std::string(word)));
  return kinds;
}

TrainingSettings settings_of(const TrainArguments& a) {
  TrainingSettings settings;
  settings.model = model_of(a);
  settings.backend = backend_of(a);
  settings.batch = count_of("--batch", a.batch, 1);
  settings.pieces = count_of("--accumulate", a.accumulate, 1);
  settings.epochs = static_cast<int>(count_of("--epochs", a.epochs, 0, most_epochs));
  if (!a.steps.empty()) settings.steps = static_cast<std::int64_t>(count_of("--steps", a.steps, 1));
  set_rates(a, settings);
  if (!a.momentum.empty()) settings.momentum = number_of("--momentum", a.momentum, 0, true);
  if (!a.decay.empty()) settings.decay = number_of("--decay", a.decay, 0, true);
  set_strategy(a, settings.strategy);
  if (a.batch_norm != "local" && a.batch_norm != "synchronised")
    reject("--batch-norm", "local or synchronised", a.batch_norm);
  settings.synchronised_batch_norm = a.batch_norm == "synchronised";
  set_shares(a, settings);
  if (!a.slow_wire.empty())
    settings.wire = static_cast<double>(bytes_of("--slow-wire", a.slow_wire, least_wire));
  settings.threads = static_cast<int>(count_of("--threads", a.threads, 1, 1024));
  settings.prefetch = count_of("--prefetch", a.prefetch, 0, 1000);
  settings.evaluate = !a.no_evaluation;
  set_checkpoints(a, settings);
  return settings;
}

trainer::Dataset data_of(const TrainArguments& a, std::uint64_t seed) {
  if (!a.synthetic.empty() && !a.data.empty())
    throw Error(ErrorCode::bad_input, "--data and --synthetic exclude each other");
  trainer::Dataset data;
  if (a.synthetic.empty()) {
    data = trainer::read_dataset(a.data);
  } else {
    const std::size_t count = count_of("--synthetic", a.synthetic, 1, 10'000'000);
    data = trainer::synthetic_dataset(count, std::max<std::size_t>(count / 6, 1), seed);
  }
  if (!a.samples.empty()) data.training.keep(count_of("--samples", a.samples, 1));
  return data;
}

namespace {

void add_who_learns_what(CLI::App& command, TrainArguments& a) {
  const WordOptions add(command);
  add("--model", a.model, "NAME",
      fmt::format("{} (default: lenet); all but mlp need libtorch",
                  fmt::join(trainer::model_names(), ", ")));
  add("--width", a.width, "N",
      "Channels of resnet18's first stage (default: 64), hidden units of mlp (256)");
  add("--ranks", a.ranks, "N[,N...]",
      "Threads that learn together (default: 2, or 1 on one core); several numbers with --compare "
      "or --on");
  add("--strategy", a.strategy, "NAME",
      fmt::format("{} (default: distributed, or single for one rank); a list with --compare or "
                  "--on",
                  fmt::join(trainer::strategy_names(), ", ")));
  add("-a,--algorithm", a.algorithm, "SPEC",
      "What sums the gradients: a spec string or a plan file (made with --in-place), one's own "
      "with --plugin (default: auto); a list with --compare or --on");
  add("--backend", a.backend, "NAME",
      "What gradients travel on: host, cuda (our plans on GPUs), nccl, or mpi (under mpirun, which "
      "says how many ranks; default: host); models are computed at the host either way");
  add("--devices", a.devices, "N[,N...]", "GPUs, which ranks go round (default: all)");
  add("--data", a.data, "DIR",
      "Folder of IDX files with MNIST's names (default: Debian's dataset-fashion-mnist)");
  add("--synthetic", a.synthetic, "N", "Made-up images instead, so many to learn from");
  add("--samples", a.samples, "N", "Only the first so many images to learn from");
}

void add_steps(CLI::App& command, TrainArguments& a) {
  const WordOptions add(command);
  add("--batch", a.batch, "N", "Samples of a step, all ranks together (default: 256)");
  add("--accumulate", a.accumulate, "N",
      "Compute each batch in so many pieces, whose gradients are added up (default: 1)");
  add("--epochs", a.epochs, "N", "(default: 10), those before --resume included");
  add("--steps", a.steps, "N", "End after so many steps; with --compare per turn (default: 30)");
  add("--lr", a.rate, "RATE",
      "Learning rate for batches of 256, others in proportion (default: d2l's, 0.2 for lenet, else "
      "0.1)");
  add_switch(command, "--no-scaling", a.no_scaling, "--lr is the rate whatever the batch");
  add("--warmup", a.warmup, "EPOCHS",
      "Reach the rate linearly, from that of 256 samples, or from 0 for no larger batch");
  add("--momentum", a.momentum, "M", "(default: 0)");
  add("--decay", a.decay, "D", "Weight decay (default: 0)");
  add("--precision", a.precision, "TYPE", "float32 or float64 (default: float32)");
  add("--seed", a.seed, "N", "Of the first weights and the order of samples (default: 1)");
}

void add_strategy(CLI::App& command, TrainArguments& a) {
  const WordOptions add(command);
  add("--wire-type", a.wire_type, "TYPE",
      "gradients travel as they are (gradients; default) or as bfloat16");
  add("--bucket", a.bucket, "SIZE",
      fmt::format(
          "distributed, sharded: bytes of a bucket, at least {} (default: an eighth of all, "
          "or a 32nd for stage 2 of sharded; at most 25 MiB)",
          format_bytes(least_bucket)));
  add("--first-bucket", a.first_bucket, "SIZE", "distributed, sharded: of the first to travel");
  add_switch(command, "--no-overlap", a.no_overlap,
             "distributed, sharded: compute nothing while gradients travel");
  add("--zero-stage", a.zero_stage, "N",
      "sharded: 1 shards the momentum, 2 the gradients, too (default: 2)");
  add("--batch-norm", a.batch_norm, "WHOSE",
      "Batch norms see a rank's own samples (local; default), or those of all ranks "
      "(synchronised), "
      "as one rank with the whole batch would");
  add("--shares", a.shares, "N,N,...",
      fmt::format("Shares of every batch, a whole number for each rank, for ranks that are not "
                  "equally fast; or \"measured\" (not with --compare): by how fast they are in the "
                  "first {} steps",
                  trainer::steps_to_measure_shares));
  add("--slow-ranks", a.slow_ranks, "X,X,...",
      "Let each rank compute so many times as long: what slower devices would do");
  add("--micro-batches", a.micro_batches, "N",
      "pipeline: parts of a batch that follow one another through the ranks (default: 4)");
  add("--slow-wire", a.slow_wire, "SIZE",
      fmt::format("Let collectives last longer, by their bytes at SIZE a second, at least {}: what "
                  "slow links would do",
                  format_bytes(least_wire)));
  add("--threads", a.threads, "N",
      "Threads that a rank computes with (default: 1; more are slower where cores are shared)");
  add("--prefetch", a.prefetch, "N", "Batches made ahead on a thread (default: 2; 0: no thread)");
}

void add_results(CLI::App& command, TrainArguments& a) {
  const WordOptions add(command);
  add_switch(command, "--no-evaluation", a.no_evaluation, "Leave the test set alone");
  add("--checkpoint", a.checkpoint, "FILE",
      "Write a checkpoint (safetensors) there after every epoch, and keep the one before as "
      "FILE.previous");
  add("--checkpoint-steps", a.checkpoint_steps, "N", "And after every so many steps");
  add("--resume", a.resume, "FILE",
      "Go on from a checkpoint, whatever strategy and number of ranks wrote it");
  add_switch(
      command, "--compare", a.compare,
      "Let one rank and --ranks ranks take turns, by strategy and algorithm, and print how much "
      "faster they are");
  add("--rounds", a.rounds, "N", "--compare: turns of each (default: 5)");
  add("--warmup-steps", a.warmup_steps, "N", "--compare: untimed steps of a turn (default: 3)");
}

}  // namespace

void add_train_options(CLI::App& command, TrainArguments& a) {
  add_who_learns_what(command, a);
  add_steps(command, a);
  add_strategy(command, a);
  add_results(command, a);
  add_train_on_options(command, a.on);
  add_format_option(command, a.format, {"text", "json"});
}

}  // namespace ringside::cli
