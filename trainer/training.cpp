// SPDX-License-Identifier: MIT
#include "ringside/trainer/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "ringside/base/text.hpp"
#include "ringside/trainer/data/prefetch.hpp"
#include "ringside/trainer/data/sampler.hpp"
#include "ringside/trainer/gathered.hpp"
#include "ringside/trainer/processor_time.hpp"
#include "ringside/trainer/route.hpp"
#include "ringside/trainer/shares.hpp"
#include "ringside/trainer/training_checks.hpp"

namespace ringside::trainer {
namespace {

constexpr std::size_t evaluation_batch = 256;

Recipe recipe_of(const TrainingSettings& settings) {
  return {.rate = settings.rate,
          .warmup_from = settings.warmup_from,
          .warmup_epochs = settings.warmup_epochs,
          .momentum = settings.momentum,
          .decay = settings.decay,
          .synchronised_batch_norm = settings.synchronised_batch_norm};
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
    begin_timing();
    const Loss sum = run_steps(report);
    end_timing(report);
    finish_epoch(report, sum);
  }

  /// Those of the epoch that this call is to make; returns what those that are timed lost.
  Loss run_steps(EpochReport& report) {
    const EpochOrder order(shared_.data.training.count(), settings_.batch, settings_.model.seed,
                           position_.epoch);
    std::optional<Prefetcher> batches;
    batches.emplace(batch_maker(order), settings_.prefetch);
    Loss sum;
    for (std::size_t step = position_.step; step < order.steps() && done_ < steps_in_all_; ++step) {
      const Loss loss = run_step(order.step(step), *batches, report);
      sum.sum += loss.sum;
      sum.correct += loss.correct;
      if (is_first()) shared_.observer.after_step(done_, steps_in_all_, order.step(step).size());
      const bool last = step + 1 == order.steps() || done_ == steps_in_all_;
      if (saves_now() && !last) save();  // the last is saved by finish_epoch
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
    return sum;
  }

  [[nodiscard]] bool saves_now() const {
    return settings_.checkpoint_steps > 0 && done_ % settings_.checkpoint_steps == 0;
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

  void end_timing(EpochReport& report) {
    balance_.end(times_);
    seconds_ = watch_.elapsed().count();
    report.processor_seconds = processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - processor_;
    own_processor_ = processor_seconds(CLOCK_THREAD_CPUTIME_ID) - own_processor_;
  }

  /// From now on by how fast each rank was so far.
  void share_by_speed() {
    balance_.end(times_);
    shares_ = shares_by_speed(gathered(comm_, speed_.nanoseconds()));
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
    gather(report, own_result(sum), comm_);
    report.balance = balance_.gather(comm_);
    synchronise();
    report.parameters = agreed_parameters();
    if (settings_.evaluate)
      report.test = evaluate(*replica_, comm_, shared_.data.test, evaluation_batch);
    if (is_first()) shared_.observer.after_epoch(report);  // told even if it cannot be saved
    if (!settings_.checkpoint.empty()) save();
    if (is_first()) shared_.reports.push_back(std::move(report));
  }

  /// Since begin_timing.
  [[nodiscard]] RankResult own_result(const Loss& loss) const {
    return {.report = {.times = times_,
                       .processor_seconds = own_processor_,
                       .peak_bytes = replica_->peak_bytes() + batch_bytes_,
                       .memory = strategy_->memory(),
                       .traffic = traffic_},
            .loss = loss,
            .seconds = seconds_};
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
    const auto all = gathered(comm_, own);
    for (int rank = 1; rank < comm_.size(); ++rank)
      if (all[static_cast<std::size_t>(rank)] != all[0])
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
  double seconds_ = 0;                        ///< from begin_timing to end_timing
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

}  // namespace

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
