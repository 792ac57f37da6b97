// SPDX-License-Identifier: MIT
#include "ringside/trainer/training.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "ringside/base/target_file.hpp"
#include "ringside/base/text.hpp"
#include "ringside/trainer/agreement.hpp"
#include "ringside/trainer/data/prefetch.hpp"
#include "ringside/trainer/data/sampler.hpp"
#include "ringside/trainer/processor_time.hpp"
#include "ringside/trainer/route.hpp"
#include "ringside/trainer/shares.hpp"
#include "ringside/trainer/strategies/split.hpp"

namespace ringside::trainer {
namespace {

constexpr std::size_t evaluation_batch = 256;

constexpr double most_warmup_epochs = 1e6;

Recipe recipe_of(const TrainingSettings& settings) {
  return {.rate = settings.rate,
          .warmup_from = settings.warmup_from,
          .warmup_epochs = settings.warmup_epochs,
          .momentum = settings.momentum,
          .decay = settings.decay,
          .synchronised_batch_norm = settings.synchronised_batch_norm};
}

/// The same samples, in the same order.
bool same_data(const Checkpoint& checkpoint, const Dataset& data) {
  return checkpoint.samples == data.training.count() &&
         checkpoint.data_digest == to_hex(digest_of(data.training));
}

/// Of this call.
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

/// What the ranks share; only rank 0 writes.
struct Shared {
  Engine& engine;
  const Dataset& data;
  const TrainingSettings& settings;
  Observer& observer;
  std::string data_digest;  ///< where a checkpoint is written
  std::vector<EpochReport> reports;
  std::optional<Position> saved;
};

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

/// One rank.
class Trainee {
 public:
  /// `norms`: what synchronised batch norms travel by, if there are any.
  Trainee(Shared& shared, Communicator& comm, Communicator* norms)
      : shared_(shared),
        settings_(shared.settings),
        comm_(comm),
        replica_(shared.engine.make_replica(settings_.model, settings_.threads)),
        shares_(settings_.strategy.shares) {
    if (settings_.count_traffic) counted_.emplace(counted(comm_, traffic_));
    strategy_ = make_strategy(settings_.strategy, settings_.model, *replica_,
                              counted_ ? *counted_ : comm_, times_);
    if (norms != nullptr) strategy_->synchronise_batch_norms(*norms);
    if (settings_.momentum != 0) strategy_->keep_velocity();
    if (settings_.resume) {
      restore(*settings_.resume, *replica_);
      strategy_->restore_velocity(*settings_.resume);
      position_ = settings_.resume->position;
    }
    steps_per_epoch_ =
        static_cast<std::int64_t>(steps_of_epoch(shared_.data.training.count(), settings_.batch));
    schedule_ = {settings_.warmup_from, settings_.rate,
                 static_cast<std::int64_t>(std::llround(settings_.warmup_epochs *
                                                        static_cast<double>(steps_per_epoch_)))};
    steps_in_all_ = steps_to_make(settings_, shared.data);
    (void)agreed_parameters();
  }

  void run() {
    while (done_ < steps_in_all_) run_epoch();
  }

 private:
  [[nodiscard]] bool is_first() const { return comm_.rank() == 0; }
  [[nodiscard]] std::int64_t steps_so_far() const {
    return static_cast<std::int64_t>(position_.epoch) * steps_per_epoch_ +
           static_cast<std::int64_t>(position_.step);
  }

  void run_epoch() {
    EpochReport report;
    report.epoch = static_cast<int>(position_.epoch) + 1;
    Loss sum;
    begin_timing();
    {
      const EpochOrder order(shared_.data.training.count(), settings_.batch, settings_.model.seed,
                             position_.epoch);
      std::optional<Prefetcher> batches;
      batches.emplace(batch_maker(order), settings_.prefetch);
      const std::size_t first = position_.step;
      for (std::size_t step = first; step < order.steps() && done_ < steps_in_all_; ++step) {
        const Loss loss = run_step(order.step(step), *batches, report);
        sum.sum += loss.sum;
        sum.correct += loss.correct;
        if (is_first()) shared_.observer.after_step(done_, steps_in_all_, order.step(step).size());
        if (settings_.checkpoint_steps > 0 && done_ % settings_.checkpoint_steps == 0 &&
            step + 1 < order.steps() && done_ < steps_in_all_)  // then finish_epoch saves
          save();
        if (done_ == settings_.untimed_steps) {
          comm_.barrier();
          report.steps = report.samples = 0;
          sum = {};
          begin_timing();
        }
        if (settings_.measured_shares && done_ == steps_to_measure_shares) {
          batches.reset();  // those that it has made ahead are cut by the old shares
          share_by_speed();
          batches.emplace(batch_maker(order), settings_.prefetch);
        }
      }
      if (position_.step >= order.steps()) position_ = {position_.epoch + 1, 0};
    }
    balance_.end(times_);
    report.seconds = watch_.elapsed().count();
    report.processor_seconds = processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - processor_;
    own_processor_ = processor_seconds(CLOCK_THREAD_CPUTIME_ID) - own_processor_;
    finish_epoch(report, sum);
  }

  void begin_timing() {
    times_ = {};
    traffic_ = {};
    balance_.clear();
    balance_.begin(shares_, times_);
    (void)watch_.restart();
    processor_ = processor_seconds(CLOCK_PROCESS_CPUTIME_ID);
    own_processor_ = processor_seconds(CLOCK_THREAD_CPUTIME_ID);
  }

  /// From now on by how fast each rank was so far.
  void share_by_speed() {
    balance_.end(times_);
    const std::array<std::int64_t, 1> own{speed_.nanoseconds()};
    std::vector<std::int64_t> all(static_cast<std::size_t>(comm_.size()));
    comm_.all_gather(own, all);
    shares_ = shares_by_speed(all);
    strategy_->set_shares(shares_);
    balance_.begin(shares_, times_);
  }

  Loss run_step(std::span<const std::uint32_t> samples, Prefetcher& batches, EpochReport& report) {
    shared_.observer.before_step(comm_.rank(), position_);
    const double rate = schedule_.at(steps_so_far());
    replica_->clear_gradients();
    const double computed_before = times_[Part::forward] + times_[Part::backward];
    Loss loss;
    std::size_t own_samples = 0;
    for (std::size_t piece = 0; piece < settings_.pieces; ++piece) {
      const Batch batch = timed(times_, Part::data, [&] { return batches.next(); });
      batch_bytes_ =
          std::max<std::uint64_t>(batch_bytes_, batch.pixels.capacity() + batch.labels.capacity());
      const std::size_t in_piece = part_of(samples.size(), settings_.pieces, piece).length;
      const Loss own = strategy_->accumulate(batch, in_piece, piece + 1 == settings_.pieces);
      own_samples += strategy_->computed_of(in_piece);
      loss.sum += own.sum;
      loss.correct += own.correct;
    }
    if (!std::isfinite(loss.sum))
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the loss is {} in epoch {}, step {}: is the learning rate {} too "
                              "high?",
                              std::isnan(loss.sum) ? "nan" : "infinite", position_.epoch + 1,
                              position_.step + 1, rate))
          .at_rank(comm_.rank());
    strategy_->update({.rate = rate,
                       .samples = static_cast<double>(samples.size()),
                       .momentum = settings_.momentum,
                       .decay = settings_.decay});
    if (done_ >= cold_steps)
      speed_.add_step(times_[Part::forward] + times_[Part::backward] - computed_before,
                      own_samples);
    balance_.add_step(samples.size(), own_samples);
    ++position_.step;
    ++done_;
    ++report.steps;
    report.samples += static_cast<std::int64_t>(samples.size());
    report.rate = rate;
    return loss;
  }

  /// Gives this rank's share of every piece of every step from the current one on.
  Prefetcher::Make batch_maker(const EpochOrder& order) {
    return [this, &order, step = static_cast<std::size_t>(position_.step),
            piece = std::size_t{0}]() mutable -> std::optional<Batch> {
      if (step >= order.steps()) return std::nullopt;
      const auto samples = order.step(step);
      const auto own = piece_of(samples, part_of(samples.size(), settings_.pieces, piece));
      if (++piece == settings_.pieces) ++step, piece = 0;
      return shared_.data.training.batch(piece_of(own, strategy_->loaded_of(own.size())));
    };
  }

  void finish_epoch(EpochReport& report, const Loss& sum) {
    report.ranks = gather_reports(report, sum);
    report.balance = balance_.gather(comm_);
    synchronise();
    report.parameters = agreed_parameters();
    if (settings_.evaluate)
      report.test = evaluate(*replica_, comm_, shared_.data.test, evaluation_batch);
    if (is_first()) shared_.observer.after_epoch(report);  // told even if it cannot be saved
    if (!settings_.checkpoint.empty()) save();
    if (is_first()) shared_.reports.push_back(std::move(report));
  }

  /// Every rank's times; and in `report` the loss of all and the time of the slowest.
  std::vector<RankReport> gather_reports(EpochReport& report, const Loss& sum) {
    constexpr std::size_t parts = part_names.size();
    std::array<double, parts + 11> own{};
    std::copy_n(times_.seconds().begin(), parts, own.begin());
    own[parts] = static_cast<double>(replica_->peak_bytes() + batch_bytes_);
    own[parts + 1] = sum.sum;
    own[parts + 2] = static_cast<double>(sum.correct);
    own[parts + 3] = report.seconds;
    own[parts + 4] = own_processor_;
    const MemoryUse memory = strategy_->memory();
    own[parts + 5] = static_cast<double>(memory.parameters);
    own[parts + 6] = static_cast<double>(memory.gradients);
    own[parts + 7] = static_cast<double>(memory.optimizer);
    own[parts + 8] = static_cast<double>(memory.staging);
    own[parts + 9] = static_cast<double>(traffic_.sent);
    own[parts + 10] = static_cast<double>(traffic_.received);
    std::vector<double> all(own.size() * static_cast<std::size_t>(comm_.size()));
    comm_.all_gather(own, all);
    std::vector<RankReport> ranks(static_cast<std::size_t>(comm_.size()));
    double loss = 0, correct = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto its = std::span(all).subspan(rank * own.size(), own.size());
      std::copy_n(its.begin(), parts, ranks[rank].times.seconds().begin());
      ranks[rank].peak_bytes = static_cast<std::uint64_t>(its[parts]);
      loss += its[parts + 1];
      correct += its[parts + 2];
      report.seconds = std::max(report.seconds, its[parts + 3]);
      ranks[rank].processor_seconds = its[parts + 4];
      const auto bytes = [&](std::size_t i) { return static_cast<std::uint64_t>(its[parts + i]); };
      ranks[rank].memory = {bytes(5), bytes(6), bytes(7), bytes(8)};
      ranks[rank].traffic = {bytes(9), bytes(10)};
    }
    report.training = {loss / static_cast<double>(report.samples),
                       static_cast<std::int64_t>(correct), report.samples};
    return ranks;
  }

  /// All ranks hold the same: parameters by the strategy, and rank 0's statistics, as with
  /// DistributedDataParallel and nn.DataParallel. (Training does not read the statistics.)
  void synchronise() {
    strategy_->synchronise();
    const Memory statistics = replica_->statistics();
    if (statistics.elements != 0)
      comm_.broadcast(statistics.data, statistics.data, statistics.elements, statistics.type, 0);
  }

  /// The parameters' bytes. A loss shows only what was wrong before its step's update, so this is
  /// asked before they count as a result or take a checkpoint's place.
  std::vector<std::byte> finite_parameters() {
    const Memory parameters = replica_->parameters();
    std::vector<std::byte> bytes(parameters.bytes());
    replica_->copy_to_host(parameters, bytes);
    if (!all_finite(bytes, parameters.type))
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("parameters are no finite numbers after {} steps: is the learning "
                              "rate too high?",
                              steps_so_far()))
          .at_rank(comm_.rank());
    return bytes;
  }

  /// The digest of the parameters. Throws Error(mismatch) on all ranks if they differ.
  Digest agreed_parameters() {
    const Digest own = sha256(finite_parameters());
    std::vector<std::uint8_t> all(own.size() * static_cast<std::size_t>(comm_.size()));
    comm_.all_gather(own, all);
    for (int rank = 1; rank < comm_.size(); ++rank)
      if (!std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own.size()),
                      all.begin() + static_cast<std::ptrdiff_t>(own.size()) * rank))
        throw Error(ErrorCode::mismatch,
                    fmt::format("rank {} holds other parameters than rank 0 after {} steps", rank,
                                steps_so_far()))
            .at_rank(rank);
    return own;
  }

  void save() {
    synchronise();
    const auto velocity = strategy_->gather_velocity();
    if (!is_first()) return;
    (void)finite_parameters();
    Checkpoint checkpoint = take_checkpoint(*replica_, settings_.model, settings_.batch, position_);
    if (!velocity.empty()) add_velocity(checkpoint, replica_->tensors().parameters, velocity);
    checkpoint.samples = shared_.data.training.count();
    checkpoint.data_digest = shared_.data_digest;
    checkpoint.recipe = recipe_of(settings_);
    save_checkpoint(settings_.checkpoint, checkpoint);
    shared_.saved = position_;
  }

  Shared& shared_;
  const TrainingSettings& settings_;
  Communicator& comm_;
  StepTimes times_;
  Stopwatch watch_;
  double processor_ = 0, own_processor_ = 0;  ///< since begin_timing
  Traffic traffic_;                           ///< since begin_timing
  std::unique_ptr<Replica> replica_;
  std::optional<Communicator> counted_;
  std::unique_ptr<Strategy> strategy_;
  Position position_;
  RateSchedule schedule_;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t steps_in_all_ = 0;  ///< of this call
  std::int64_t done_ = 0;
  std::uint64_t batch_bytes_ = 0;
  std::vector<std::int64_t> shares_;
  BalanceCount balance_;
  SpeedOfSamples speed_;
};

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

std::vector<EpochReport> train(World& world, Engine& engine, const Dataset& data,
                               const TrainingSettings& settings, Observer& observer) {
  check(settings, data, world);
  Shared shared{engine, data, settings, observer, {}, {}, {}};
  if (!settings.checkpoint.empty()) shared.data_digest = to_hex(digest_of(data.training));
  try {
    const auto devices = devices_of(settings.backend, world.size());
    world.run([&](Communicator& comm) {
      std::optional<Communicator> for_norms;
      std::optional<Route> norms;
      if (settings.synchronised_batch_norm) {
        for_norms = comm.split(0, comm.rank());
        norms.emplace(*for_norms, devices, settings.wire);
      }
      const Route route(comm, devices, settings.wire);
      Trainee(shared, route.end(), norms ? &norms->end() : nullptr).run();
    });
  } catch (const Error& error) {
    if (!shared.saved) throw;
    throw Error(error.code(), fmt::format("{}; the last checkpoint is {} (epoch {}, step {})",
                                          error.what(), quote(settings.checkpoint, 200),
                                          shared.saved->epoch, shared.saved->step));
  }
  return std::move(shared.reports);
}

}  // namespace ringside::trainer
