// SPDX-License-Identifier: MIT
/// What goes wrong is told clearly, ends all ranks, and leaves the last checkpoint whole.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ringside/tests/trainer/learning.hpp"
#include "ringside/trainer/agreement.hpp"
#include "ringside/trainer/compare.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;
using trainer::StrategyKind;
using trainer::TrainingSettings;

struct Failure {
  ErrorCode code{};
  std::string words;
};

Failure failure_of(int ranks, trainer::Engine& engine, const TrainingSettings& settings,
                   trainer::Observer& observer) {
  World world = World::threads(ranks);
  try {
    (void)trainer::train(world, engine, small_data(), settings, observer);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ErrorCode::internal, "nothing went wrong"};
}

Failure failure_of(int ranks, const TrainingSettings& settings) {
  trainer::Observer nobody;
  return failure_of(ranks, *trainer::engine_for(trainer::Model::mlp), settings, nobody);
}

void expect_words(const Failure& failure, const std::string& words) {
  EXPECT_NE(failure.words.find(words), std::string::npos) << failure.words;
}

class File {
 public:
  ~File() {
    fs::remove(path());
    fs::remove(path() + ".previous");
  }
  [[nodiscard]] std::string path() const {
    return fs::temp_directory_path() / fmt::format("ringside_errors_{}", ::getpid());
  }
};

class EveryStrategyFailing : public ::testing::TestWithParam<StrategyKind> {};

TEST_P(EveryStrategyFailing, ARankThatDiesEndsAllAndLeavesTheLastCheckpoint) {
  class Dying : public trainer::Observer {
   public:
    void before_step(int rank, const trainer::Position& position) override {
      if (rank == 1 && position.epoch == 1 && position.step == 2)
        throw Error(ErrorCode::device, "rank 1 fell off the bus");
    }
  } dying;
  const File file;
  TrainingSettings settings = small_settings(GetParam());
  settings.checkpoint = file.path();
  const Failure failure = failure_of(3, *trainer::engine_for(trainer::Model::mlp), settings, dying);
  EXPECT_EQ(failure.code, ErrorCode::device);
  expect_words(failure, "rank 1 fell off the bus; the last checkpoint is");
  expect_words(failure, "(epoch 1, step 0)");
  EXPECT_EQ(trainer::load_checkpoint(file.path()).position, (trainer::Position{1, 0}));
}

TEST_P(EveryStrategyFailing, ALossThatIsNoNumberStopsTraining) {
  TrainingSettings settings = small_settings(GetParam());
  settings.rate = 1e30;
  settings.epochs = 50;
  const Failure failure = failure_of(2, settings);
  EXPECT_EQ(failure.code, ErrorCode::invalid_argument);
  expect_words(failure, "learning rate 1e+30 too high?");
}

INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategyFailing,
                         ::testing::Values(StrategyKind::data_parallel, StrategyKind::from_scratch,
                                           StrategyKind::distributed, StrategyKind::sharded));

TEST(Errors, ParametersThatAreNoNumbersTakeNoCheckpointsPlace) {
  const auto engine = trainer::engine_for(trainer::Model::mlp);
  const File file;
  TrainingSettings settings = small_settings(StrategyKind::distributed);
  settings.checkpoint = file.path();
  settings.steps = 1;
  World world = World::threads(2);
  trainer::Observer nobody;
  (void)trainer::train(world, *engine, small_data(), settings, nobody);
  // The loss of a step is that before its update.
  settings.rate = 1e300;
  settings.resume = std::make_shared<trainer::Checkpoint>(trainer::load_checkpoint(file.path()));
  expect_words(failure_of(2, settings), "parameters are no finite numbers after 2 steps");
  EXPECT_EQ(trainer::load_checkpoint(file.path()).position, (trainer::Position{0, 1}));
}

/// mlp; `made` sees every replica on its rank's thread.
class WatchedEngine final : public trainer::Engine {
 public:
  explicit WatchedEngine(std::function<void(trainer::Replica&)> made) : made_(std::move(made)) {}
  trainer::EngineFacts facts() override { return mlp_->facts(); }
  std::unique_ptr<trainer::Replica> make_replica(const trainer::ModelSettings& settings,
                                                 int threads) override {
    auto replica = mlp_->make_replica(settings, threads);
    made_(*replica);
    return replica;
  }

 private:
  std::shared_ptr<trainer::Engine> mlp_ = trainer::engine_for(trainer::Model::mlp);
  std::function<void(trainer::Replica&)> made_;
};

/// As a broken device might.
void change_a_weight(trainer::Replica& replica) { replica.parameters().as<float>()[5] += 1e-3F; }

TEST(Errors, RanksWithDifferentParametersAreFoundOut) {
  std::atomic<int> number = 0;
  WatchedEngine engine([&number](trainer::Replica& replica) {
    if (++number == 2) change_a_weight(replica);
  });
  trainer::Observer nobody;
  const Failure failure = failure_of(3, engine, small_settings(StrategyKind::distributed), nobody);
  EXPECT_EQ(failure.code, ErrorCode::mismatch);
  expect_words(failure, "holds other parameters than rank 0");
}

thread_local trainer::Replica* replica_here = nullptr;

TEST(Errors, ParametersThatComeToDifferAreFoundOutWhenTheEpochIsOver) {
  class Flipping : public trainer::Observer {
   public:
    void before_step(int rank, const trainer::Position& position) override {
      if (rank == 2 && position == trainer::Position{1, 1}) change_a_weight(*replica_here);
    }
  } flipping;
  WatchedEngine engine([](trainer::Replica& replica) { replica_here = &replica; });
  const File file;
  TrainingSettings settings = small_settings(StrategyKind::distributed);
  settings.checkpoint = file.path();
  const Failure failure = failure_of(3, engine, settings, flipping);
  EXPECT_EQ(failure.code, ErrorCode::mismatch);
  expect_words(failure, "rank 2 holds other parameters than rank 0 after 8 steps");
  EXPECT_EQ(trainer::load_checkpoint(file.path()).position, (trainer::Position{1, 0}));
}

TEST(Errors, RanksThatWereToldDifferentThingsAreFoundOut) {
  const auto told_at_rank_2 = [](const std::string& batch) -> std::string {
    World world = World::threads(3);
    try {
      world.run([&](Communicator& comm) {
        const std::vector<trainer::Told> told = {
            {"seed", "1"}, {"batch", comm.rank() == 2 ? batch : "256"}, {"algorithm", "ring"}};
        trainer::check_agreement(told, comm);
      });
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::mismatch);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(told_at_rank_2("256"), "");
  EXPECT_NE(told_at_rank_2("128").find("rank 2 was given another batch than rank 0"),
            std::string::npos);
}

TEST(Errors, SettingsThatMakeNoSenseAreRefused) {
  const auto refused = [](int ranks, StrategyKind kind,
                          const std::function<void(TrainingSettings&)>& change) {
    TrainingSettings settings = small_settings(kind);
    change(settings);
    return failure_of(ranks, settings);
  };
  const auto same = [](TrainingSettings&) {};
  expect_words(refused(2, StrategyKind::single, same), "single is for one rank, not 2");
  expect_words(
      refused(2, StrategyKind::distributed, [](auto& s) { s.strategy.algorithm = "rinf"; }),
      "rinf");
  expect_words(refused(1, StrategyKind::single, [](auto& s) { s.pieces = 65; }), "pieces");
  expect_words(refused(1, StrategyKind::single, [](auto& s) { s.batch = 0; }), "at least one");
  expect_words(refused(1, StrategyKind::single, [](auto& s) { s.rate = -1; }), "above 0");
  expect_words(
      refused(1, StrategyKind::single, [](auto& s) { s.checkpoint = "/no/such/folder/it"; }),
      "cannot write \"/no/such/folder/it\": no such file or directory");
  expect_words(refused(1, StrategyKind::single,
                       [](auto& s) { s.checkpoint = fs::temp_directory_path().string(); }),
               "is a directory");
  expect_words(refused(1, StrategyKind::single, [](auto& s) { s.warmup_epochs = 1e300; }),
               "a million epochs");
  expect_words(refused(1, StrategyKind::single, [](auto& s) { s.momentum = std::nan(""); }),
               "momentum");
  const auto distributed = [&](const std::function<void(TrainingSettings&)>& change) {
    return refused(2, StrategyKind::distributed, change);
  };
  expect_words(distributed([](auto& s) {
                 s.strategy.shares = {1, 2, 3};
               }),
               "shares are given for 3 ranks, not 2");
  expect_words(distributed([](auto& s) {
                 s.strategy.shares = {1, 0};
               }),
               "a share is a whole number");
  expect_words(distributed([](auto& s) { s.strategy.slow_ranks = {1, 0.5}; }), "as long");
  expect_words(distributed([](auto& s) { s.synchronised_batch_norm = true; }), "batch norms");
  expect_words(refused(2, StrategyKind::sharded, [](auto& s) { s.strategy.zero_stage = 3; }),
               "the stages 1 and 2");
  expect_words(refused(2, StrategyKind::pipeline,
                       [](auto& s) {
                         s.strategy.shares = {1, 2};
                       }),
               "no shares of a batch");
  const auto measured = [&](const std::function<void(TrainingSettings&)>& change) {
    return distributed([&](auto& s) {
      s.measured_shares = true;
      change(s);
    });
  };
  expect_words(measured(same), "shares are measured over 10 steps, and there are 8 in all");
  expect_words(measured([](auto& s) { s.strategy.shares = {1, 2}; }), "given or measured");
  expect_words(measured([](auto& s) { s.batch = 3, s.pieces = 2; }), "every rank has samples");
}

TEST(Errors, AnEpochIsToldThatCannotBeSaved) {
  class Witness : public trainer::Observer {
   public:
    explicit Witness(fs::path folder) : folder_(std::move(folder)) {}
    void before_step(int rank, const trainer::Position& position) override {
      if (rank == 0 && position.step == 3) fs::remove_all(folder_);
    }
    void after_epoch(const trainer::EpochReport& report) override { told = report.epoch; }
    int told = 0;

   private:
    fs::path folder_;
  };
  const fs::path folder = fs::temp_directory_path() / fmt::format("ringside_gone_{}", ::getpid());
  fs::create_directory(folder);
  Witness witness(folder);
  TrainingSettings settings = small_settings(StrategyKind::distributed);
  settings.checkpoint = folder / "it";
  const Failure failure =
      failure_of(2, *trainer::engine_for(trainer::Model::mlp), settings, witness);
  EXPECT_EQ(failure.code, ErrorCode::io);
  EXPECT_EQ(witness.told, 1);
}

TEST(Errors, AComparisonOfMoreStepsThanAnEpochHasIsRefused) {
  const auto engine = trainer::engine_for(trainer::Model::mlp);
  TrainingSettings settings = small_settings(StrategyKind::single);
  settings.epochs = 1;
  const auto compared = [&](std::int64_t untimed, std::int64_t steps) -> std::string {
    settings.untimed_steps = untimed;
    settings.steps = untimed + steps;
    try {
      (void)trainer::compare(*engine, small_data(), settings, {{1, settings.strategy}}, 1,
                             [](auto, auto, const auto&) {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(compared(2, 2), "");  // an epoch has 4
  EXPECT_NE(compared(2, 3).find("an epoch has 4 steps, too few to time 3"), std::string::npos);
  EXPECT_NE(compared(10, 2).find("an epoch has 4 steps"), std::string::npos);
  EXPECT_NE(compared(1, 0).find("at least one step"), std::string::npos);
}

TEST(Errors, AnEpochBegunWithOtherSamplesIsNotGoneOnWith) {
  const auto engine = trainer::engine_for(trainer::Model::mlp);
  trainer::Observer nobody;
  for (const std::size_t prefetch : {0, 2}) {
    TrainingSettings settings = small_settings(StrategyKind::single);
    settings.prefetch = prefetch;
    settings.steps = 3;
    settings.resume = std::make_shared<trainer::Checkpoint>(train_on(1, *engine, settings).end);
    settings.steps.reset();
    const auto resumed_on = [&](const trainer::Dataset& data) -> std::string {
      World world = World::threads(1);
      try {
        (void)trainer::train(world, *engine, data, settings, nobody);
      } catch (const Error& error) {
        return error.what();
      }
      return "";
    };
    EXPECT_EQ(resumed_on(small_data()), "");
    EXPECT_NE(resumed_on(trainer::synthetic_dataset(64, 10, 5)).find("203 samples, not 64"),
              std::string::npos);
    EXPECT_NE(resumed_on(trainer::synthetic_dataset(203, 10, 6)).find("other samples"),
              std::string::npos);
  }
}

TEST(Errors, WhatARunIsResumedWithThatItsCheckpointHadNotIsNamed) {
  const auto engine = trainer::engine_for(trainer::Model::mlp);
  TrainingSettings settings = small_settings(StrategyKind::single);
  settings.momentum = 0.9;
  settings.epochs = 1;
  EXPECT_TRUE(changes_since_checkpoint(settings, small_data()).empty());
  settings.resume = std::make_shared<trainer::Checkpoint>(train_on(1, *engine, settings).end);
  EXPECT_TRUE(changes_since_checkpoint(settings, small_data()).empty());
  settings.momentum = 0;
  settings.rate = 0.2;
  EXPECT_EQ(changes_since_checkpoint(settings, trainer::synthetic_dataset(203, 10, 6)),
            (std::vector<std::string>{"learning rate 0.2, not 0.1", "momentum 0, not 0.9",
                                      "other data"}));
}

TEST(Errors, TheLastStepsCheckpointLeavesAnEarlierOneAsThePrevious) {
  const auto engine = trainer::engine_for(trainer::Model::mlp);
  const File file;
  TrainingSettings settings = small_settings(StrategyKind::distributed);
  settings.checkpoint = file.path();
  settings.checkpoint_steps = 1;
  settings.steps = 6;
  World world = World::threads(2);
  trainer::Observer nobody;
  (void)trainer::train(world, *engine, small_data(), settings, nobody);
  EXPECT_EQ(trainer::load_checkpoint(file.path()).position, (trainer::Position{1, 2}));
  EXPECT_EQ(trainer::load_checkpoint(file.path() + ".previous").position,
            (trainer::Position{1, 1}));
}

TEST(Errors, ACheckpointOfAnotherTrainingIsRefused) {
  const auto engine = trainer::engine_for(trainer::Model::mlp);
  TrainingSettings settings = small_settings(StrategyKind::single);
  settings.steps = 1;
  settings.resume = std::make_shared<trainer::Checkpoint>(train_on(1, *engine, settings).end);
  const auto refused = [&](const std::function<void(TrainingSettings&)>& change) {
    TrainingSettings changed = settings;
    change(changed);
    Failure failure = failure_of(1, changed);
    EXPECT_EQ(failure.code, ErrorCode::bad_input);
    return failure;
  };
  expect_words(refused([](auto& s) { s.model.width = 17; }), "of width 16, not 17");
  expect_words(refused([](auto& s) { s.model.seed = 4; }), "of seed 3, not 4");
  expect_words(refused([](auto& s) { s.batch = 32; }), "batches of 64, not 32");
  expect_words(refused([](auto& s) { s.model.precision = ElementType::float64; }),
               "of precision float32, not float64");
}

}  // namespace
}  // namespace ringside::tests
