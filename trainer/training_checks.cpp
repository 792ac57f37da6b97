// SPDX-License-Identifier: MIT
#include "ringside/trainer/training_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ringside/base/error.hpp"
#include "ringside/base/target_file.hpp"
#include "ringside/trainer/agreement.hpp"
#include "ringside/trainer/data/sampler.hpp"
#include "ringside/trainer/shares.hpp"
#include "ringside/trainer/strategies/split.hpp"

namespace ringside::trainer {
namespace {

constexpr double most_warmup_epochs = 1e6;

/// The same samples, in the same order.
bool same_data(const Checkpoint& checkpoint, const Dataset& data) {
  return checkpoint.samples == data.training.count() &&
         checkpoint.data_digest == to_hex(digest_of(data.training));
}

void demand(bool holds, std::string_view otherwise) {
  if (!holds) throw Error(ErrorCode::invalid_argument, std::string(otherwise));
}

void check_sense(const TrainingSettings& settings, const Dataset& data, int ranks) {
  demand(settings.batch >= 1, "a batch has at least one sample");
  demand(settings.pieces >= 1 && settings.pieces <= settings.batch,
         "a batch is accumulated in 1 to as many pieces as it has samples");
  demand(std::isfinite(settings.rate) && settings.rate > 0, "a learning rate is above 0");
  for (const double number : {settings.warmup_from, settings.momentum, settings.decay})
    demand(std::isfinite(number) && number >= 0,
           "momentum, weight decay and the warm-up's first rate are finite and not negative");
  demand(settings.warmup_epochs >= 0 && settings.warmup_epochs <= most_warmup_epochs,
         "a warm-up lasts 0 to a million epochs");
  demand(settings.epochs >= 0, "the number of epochs is not negative");
  demand(data.training.count() > 0, "there is nothing to learn from");
  if (settings.strategy.kind == StrategyKind::single && ranks != 1)
    demand(false, fmt::format("the strategy single is for one rank, not {}", ranks));
  demand(settings.strategy.micro_batches >= 1, "a pipeline has at least one micro-batch");
  check_split(settings.strategy.kind, settings.model, ranks);
  demand(settings.strategy.zero_stage == 1 || settings.strategy.zero_stage == 2,
         "sharded has the stages 1 and 2");
  demand(!settings.synchronised_batch_norm || has_batch_norm(settings.model.model),
         "batch norms are synchronised of a model that has some");
  check_speeds(settings.strategy.shares, settings.strategy.slow_ranks, ranks);
  demand(settings.strategy.slow_ranks.empty() || settings.threads == 1,
         "a rank is slowed by its thread's time: it has one");
  demand(!splits_network(settings.strategy.kind) ||
             (settings.strategy.shares.empty() && !settings.measured_shares),
         "ranks that share a network have no shares of a batch");
  if (!settings.measured_shares) return;
  demand(settings.strategy.shares.empty(), "shares are given or measured");
  const std::int64_t steps = steps_to_make(settings, data);
  demand(steps == 0 || steps > steps_to_measure_shares,
         fmt::format("shares are measured over {} steps, and there are {} in all",
                     steps_to_measure_shares, steps));
  demand(settings.batch / settings.pieces >= static_cast<std::size_t>(ranks),
         "shares are measured where every rank has samples of every piece of a batch");
}

/// That training can go on from the checkpoint.
void check_resumed(const Checkpoint& from, const TrainingSettings& settings, const Dataset& data) {
  const auto wanted = [&](bool same, std::string_view what, std::string_view saved,
                          std::string_view asked) {
    if (!same)
      throw Error(ErrorCode::bad_input,
                  fmt::format("the checkpoint is of {} {}, not {}", what, saved, asked));
  };
  const auto& model = settings.model;
  wanted(from.model.model == model.model, "the model", to_string(from.model.model),
         to_string(model.model));
  wanted(width_of(from.model) == width_of(model), "width", fmt::to_string(width_of(from.model)),
         fmt::to_string(width_of(model)));
  wanted(from.model.precision == model.precision, "precision", to_string(from.model.precision),
         to_string(model.precision));
  wanted(from.model.seed == model.seed, "seed", fmt::to_string(from.model.seed),
         fmt::to_string(model.seed));
  wanted(from.position.step == 0 || from.batch == settings.batch, "an epoch begun with batches of",
         fmt::to_string(from.batch), fmt::to_string(settings.batch));
  if (from.position.step == 0) return;
  // What is left of the epoch is told by its position alone.
  wanted(from.samples == data.training.count(), "an epoch begun with",
         fmt::format("{} samples", from.samples), fmt::to_string(data.training.count()));
  if (!same_data(from, data))
    throw Error(ErrorCode::bad_input, "the checkpoint is of an epoch begun with other samples");
  if (from.position.step >= steps_of_epoch(data.training.count(), settings.batch))
    throw Error(ErrorCode::bad_input,
                fmt::format("the checkpoint is of step {}, which an epoch of {} samples in batches "
                            "of {} does not have",
                            from.position.step, from.samples, from.batch));
}

/// What ranks of several processes are told each for itself.
std::vector<Told> told(const TrainingSettings& s, const Dataset& data) {
  const StrategySettings& strategy = s.strategy;
  return {
      {"model", fmt::format("{} {} {}", to_string(s.model.model), width_of(s.model),
                            to_string(s.model.precision))},
      {"seed", fmt::to_string(s.model.seed)},
      {"data", fmt::format("{} {}", to_hex(digest_of(data.training)), data.test.count())},
      {"strategy", std::string(to_string(strategy.kind))},
      {"algorithm", strategy.algorithm},
      {"wire type", fmt::to_string(strategy.narrow_wire)},
      {"stage of sharding", fmt::to_string(strategy.zero_stage)},
      {"overlap", fmt::to_string(strategy.overlap)},
      {"kind of batch norm", fmt::to_string(s.synchronised_batch_norm)},
      {"list of shares", s.measured_shares ? "measured" : to_words(strategy.shares)},
      {"list of slow ranks", fmt::format("{}", fmt::join(strategy.slow_ranks, ","))},
      {"bucket sizes", fmt::format("{} {}", strategy.buckets.bytes, strategy.buckets.first_bytes)},
      {"batch", fmt::format("{} in {}", s.batch, s.pieces)},
      {"number of micro-batches", fmt::to_string(strategy.micro_batches)},
      {"number of epochs", fmt::to_string(s.epochs)},
      {"number of steps", fmt::format("{} {}", s.steps.value_or(-1), s.untimed_steps)},
      {"learning rate", fmt::format("{} {} {}", s.rate, s.warmup_from, s.warmup_epochs)},
      {"momentum", fmt::to_string(s.momentum)},
      {"weight decay", fmt::to_string(s.decay)},
      {"evaluation", fmt::to_string(s.evaluate)},
      {"checkpoints", fmt::format("{} {}", s.checkpoint.empty(), s.checkpoint_steps)},
      {"checkpoint to resume",
       s.resume ? fmt::format("{} {}", s.resume->position.epoch, s.resume->position.step) : ""}};
}

/// What this process finds wrong.
void check_here(const TrainingSettings& settings, const Dataset& data, const World& world) {
  check(settings.model);
  check_sense(settings, data, world.size());
  if (!settings.checkpoint.empty() && world.first_rank_here() == 0) {
    check_writable(settings.checkpoint);
    check_writable(settings.checkpoint + std::string(previous_suffix));
  }
  if (settings.resume) check_resumed(*settings.resume, settings, data);
}

}  // namespace

std::int64_t steps_to_make(const TrainingSettings& settings, const Dataset& data) {
  const auto per_epoch =
      static_cast<std::int64_t>(steps_of_epoch(data.training.count(), settings.batch));
  const Position begun = settings.resume ? settings.resume->position : Position{};
  const std::int64_t left = settings.epochs * per_epoch -
                            static_cast<std::int64_t>(begun.epoch) * per_epoch -
                            static_cast<std::int64_t>(begun.step);
  return std::clamp<std::int64_t>(left, 0,
                                  settings.steps.value_or(std::max<std::int64_t>(left, 0)));
}

void check(const TrainingSettings& settings, const Dataset& data, World& world) {
  if (settings.backend.kind != BackendKind::mpi) return check_here(settings, data, world);
  // Within a run, so that all processes end if one refuses.
  world.run([&](Communicator& comm) {
    check_here(settings, data, world);
    check_agreement(told(settings, data), comm);
  });
}

std::vector<std::string> changes_since_checkpoint(const TrainingSettings& settings,
                                                  const Dataset& data) {
  if (!settings.resume) return {};
  const Checkpoint& from = *settings.resume;
  std::vector<std::string> changes;
  const auto compared = [&changes](std::string_view what, auto now, auto before) {
    if (now != before) changes.push_back(fmt::format("{} {}, not {}", what, now, before));
  };
  compared("batch", std::uint64_t{settings.batch}, from.batch);
  compared("learning rate", settings.rate, from.recipe.rate);
  compared("warm-up epochs", settings.warmup_epochs, from.recipe.warmup_epochs);
  compared("warm-up from", settings.warmup_from, from.recipe.warmup_from);
  compared("momentum", settings.momentum, from.recipe.momentum);
  compared("weight decay", settings.decay, from.recipe.decay);
  const auto norms = [](bool synchronised) { return synchronised ? "synchronised" : "local"; };
  if (has_batch_norm(settings.model.model))
    compared("batch norms", std::string_view(norms(settings.synchronised_batch_norm)),
             std::string_view(norms(from.recipe.synchronised_batch_norm)));
  if (!same_data(from, data)) changes.emplace_back("other data");
  return changes;
}

}  // namespace ringside::trainer
