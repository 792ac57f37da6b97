// SPDX-License-Identifier: MIT
/// Training on Fashion-MNIST until it is good: minutes, so not for every commit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "ringside/base/options.hpp"
#include "ringside/tests/trainer/learning.hpp"

namespace ringside::tests {
namespace {

using trainer::Model;
using trainer::StrategyKind;
using trainer::TrainingSettings;

class Convergence : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) return;
    data = std::make_unique<trainer::Dataset>(trainer::read_dataset());
    const ScopedOption path("torch_engine", RINGSIDE_TORCH_ENGINE);
    engine = trainer::engine_for(Model::lenet);
    (void)trainer::keep_freed_memory();
  }
  void SetUp() override {
    if (data == nullptr) GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  }

  /// The reports, each printed.
  static std::vector<trainer::EpochReport> train(int ranks, const TrainingSettings& settings) {
    auto reports = train_on(ranks, *engine, settings, *data).reports;
    for (const auto& report : reports)
      std::printf("%s on %d: epoch %d, loss %.4f, test accuracy %.4f, %.1f s (measured)\n",
                  std::string(to_string(settings.model.model)).c_str(), ranks, report.epoch,
                  report.training.loss, report.test ? report.test->accuracy() : 0.0,
                  report.seconds);
    return reports;
  }
  static double best_of_the_last(const std::vector<trainer::EpochReport>& reports,
                                 std::size_t count) {
    double best = 0;
    for (std::size_t i = reports.size() - count; i < reports.size(); ++i)
      best = std::max(best, reports[i].test->accuracy());
    return best;
  }

 private:
  static inline std::unique_ptr<trainer::Dataset> data;
  static inline std::shared_ptr<trainer::Engine> engine;
};

TEST_F(Convergence, OfLenetIsTheTextbooksOnEveryNumberOfRanks) {
  for (const int ranks : {1, 2, 4}) {
    TrainingSettings settings;
    settings.model = {.model = Model::lenet, .seed = 1};
    settings.strategy.kind = ranks == 1 ? StrategyKind::single : StrategyKind::distributed;
    settings.rate = 0.2;
    EXPECT_GE(best_of_the_last(train(ranks, settings), 3), 0.82) << ranks;  // d2l: 0.83 to 0.84
  }
}

TEST_F(Convergence, OfANarrowResnet18IsBetter) {
  TrainingSettings settings;
  settings.model = {.model = Model::resnet18, .width = 16, .seed = 1};
  settings.epochs = 4;
  EXPECT_GE(best_of_the_last(train(2, settings), 3), 0.85);
}

TEST_F(Convergence, OfResnet18Begins) {
  TrainingSettings settings;
  settings.model = {.model = Model::resnet18, .seed = 1};
  settings.batch = 64;
  settings.rate = 0.025;
  settings.steps = 100;
  settings.evaluate = false;
  const double first = train(2, settings).back().training.loss;
  settings.untimed_steps = 100;
  settings.steps = 200;
  EXPECT_LT(train(2, settings).back().training.loss, first) << "steps 101 to 200, and 1 to 100";
}

}  // namespace
}  // namespace ringside::tests
