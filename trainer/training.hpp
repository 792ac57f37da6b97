// SPDX-License-Identifier: MIT
/// Trains a model on all ranks of a world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/world.hpp"
#include "ringside/trainer/backend.hpp"
#include "ringside/trainer/checkpoint.hpp"
#include "ringside/trainer/data/dataset.hpp"
#include "ringside/trainer/engine.hpp"
#include "ringside/trainer/epoch_report.hpp"
#include "ringside/trainer/strategies/strategy.hpp"

namespace ringside::trainer {

/// Shares are measured in the first steps that a call makes, with equal ones; they are training
/// like all others. The first two are not looked at: memory and caches are cold.
inline constexpr std::int64_t steps_to_measure_shares = 10;
inline constexpr std::int64_t cold_steps = 2;

struct TrainingSettings {
  ModelSettings model;  ///< its seed is also that of the samples' order
  StrategySettings strategy;
  BackendSettings backend;  ///< of the world that is trained on (make_world)
  std::size_t batch = 256;  ///< samples of a step, over all ranks and pieces
  std::size_t pieces = 1;   ///< gradients of so many pieces of a batch are accumulated
  int epochs = 10;          ///< in all, those of a resumed run included
  /// Ends, in the middle of an epoch perhaps, when this call has made so many steps.
  std::optional<std::int64_t> steps;
  double rate = 0.1;         ///< learning rate
  double warmup_from = 0;    ///< rate that the warm-up begins at
  double warmup_epochs = 0;  ///< how long it lasts
  double momentum = 0, decay = 0;
  /// Batch norms see all ranks' samples instead of a rank's own.
  bool synchronised_batch_norm = false;
  /// A batch is cut by how fast ranks turn out to be, instead of by strategy.shares.
  bool measured_shares = false;
  int threads = 1;                    ///< that a rank computes with
  std::size_t prefetch = 2;           ///< batches made ahead; 0: no thread for that
  bool evaluate = true;               ///< on the test set, after every epoch
  std::string checkpoint;             ///< file written after every epoch; empty: none
  std::int64_t checkpoint_steps = 0;  ///< and after so many steps; 0: not
  std::shared_ptr<const Checkpoint> resume;
  std::int64_t untimed_steps =
      0;                       ///< of this call, the first: not in the report's times and counts
  double wire = 0;             ///< bytes per second that collectives are slowed down to; 0: not
  bool count_traffic = false;  ///< RankReport::traffic
};

/// Is told how training goes.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;
  /// On every rank's thread.
  virtual void before_step(int /*rank*/, const Position& /*position*/) {}
  /// On rank 0's thread: so many steps of this call's are done.
  virtual void after_step(std::int64_t /*done*/, std::int64_t /*of*/, std::size_t /*samples*/) {}
  /// On rank 0's thread.
  virtual void after_epoch(const EpochReport& /*report*/) {}
};

/// What is wrong with settings is found before anything is computed. Throws Error: invalid_argument
/// for what makes no sense; io for a checkpoint that could not be written (by the process that has
/// rank 0); bad_input for a checkpoint of another model, or an epoch begun with other data;
/// mismatch if processes were given different settings or data.
void check(const TrainingSettings& settings, const Dataset& data, World& world);

/// How the settings differ from those that the resumed checkpoint was made by, where that is
/// allowed but makes another training: "momentum 0, not 0.9". Empty without --resume.
[[nodiscard]] std::vector<std::string> changes_since_checkpoint(const TrainingSettings& settings,
                                                                const Dataset& data);

/// Trains and returns a report for every epoch that was begun (nothing where rank 0 is another
/// process's). Throws what `check` does, and Error: invalid_argument for a loss or parameters that
/// are no finite numbers; mismatch if ranks come to hold different parameters; else what a rank
/// threw first. If a checkpoint was written, the message says which.
[[nodiscard]] std::vector<EpochReport> train(World& world, Engine& engine, const Dataset& data,
                                             const TrainingSettings& settings, Observer& observer);

}  // namespace ringside::trainer
