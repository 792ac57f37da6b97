// SPDX-License-Identifier: MIT
/// What goes wrong is told clearly, ends all ranks, and leaves the last checkpoint whole.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "ringside/tests/trainer/learning.hpp"

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
                                           StrategyKind::distributed));

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
      "there is no folder \"/no/such/folder\" for the checkpoint");
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
