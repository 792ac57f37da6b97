// SPDX-License-Identifier: MIT
/// All ranks together count exactly what one would.
#include "ringside/trainer/evaluation.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "ringside/tests/trainer/learning.hpp"

namespace ringside::tests {
namespace {

using trainer::Score;

Score score_on(int ranks, std::size_t batch) {
  const auto engine = trainer::engine_for(trainer::Model::mlp);
  World world = World::threads(ranks);
  std::mutex mutex;
  std::vector<Score> scores;
  world.run([&](Communicator& comm) {
    const auto replica = engine->make_replica({.model = trainer::Model::mlp, .width = 8}, 1);
    const Score score = trainer::evaluate(*replica, comm, small_data().test, batch);
    const std::lock_guard lock(mutex);
    scores.push_back(score);
  });
  for (const Score& score : scores) EXPECT_EQ(score.correct, scores[0].correct);
  return scores[0];
}

TEST(Evaluation, IsExactForEveryNumberOfRanksAndBatchSize) {
  const Score one = score_on(1, 256);
  EXPECT_EQ(one.samples, 101);
  EXPECT_GT(one.correct, 0);
  for (const int ranks : {2, 3, 7})
    for (const std::size_t batch : {1, 13, 256}) {
      const Score score = score_on(ranks, batch);
      EXPECT_EQ(score.samples, 101);
      EXPECT_EQ(score.correct, one.correct);
      EXPECT_NEAR(score.loss, one.loss, 1e-12);
    }
}

TEST(Evaluation, OfNothingIsZero) { EXPECT_EQ(Score{}.accuracy(), 0); }

}  // namespace
}  // namespace ringside::tests
