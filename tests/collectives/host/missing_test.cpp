// SPDX-License-Identifier: MIT
/// Ranks that do not come, or give up: every other rank gets an error that says who, within the
/// time limit, and the communicator tells the first cause from then on.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/host/works.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using std::chrono::milliseconds;

/// One rank's buffers, filled so that any write shows.
struct Buffers {
  std::vector<std::byte> in = std::vector<std::byte>(400, std::byte{1});
  std::vector<std::byte> out = std::vector<std::byte>(400, std::byte{2});

  void call(Communicator& comm) {
    comm.all_reduce(in.data(), out.data(), 100, ElementType::float32, ReduceOp::sum,
                    {.algorithm = "ring"});
  }
  [[nodiscard]] bool untouched() const {
    return in == std::vector<std::byte>(400, std::byte{1}) &&
           out == std::vector<std::byte>(400, std::byte{2});
  }
};

constexpr auto generous = std::chrono::seconds(20);

/// A rank is told as it waits (`timeout`) or, if it comes when another's wait is over already, as
/// it calls (`failed`); the words and the peer are the same.
void expect_missing(const Outcome& outcome, int peer, const std::string& words) {
  EXPECT_TRUE(outcome.code == ErrorCode::timeout || outcome.code == ErrorCode::failed)
      << outcome.what;
  EXPECT_EQ(outcome.peer, peer) << outcome.what;
  EXPECT_NE(outcome.what.find(words), std::string::npos) << outcome.what;
}

TEST(Missing, ARankThatNeverCallsIsNamedOnAllOthersWithinTheLimit) {
  const Stopwatch watch;
  std::mutex mutex;
  std::vector<Outcome> outcomes;
  std::latch told(3);
  World::threads(4).run([&](Communicator& comm) {
    expect_works(comm);
    if (comm.rank() == 2) {
      told.wait();
      // The communicator has failed: the late call learns why instead of touching anything.
      Buffers late;
      const auto outcome = outcome_of([&] { late.call(comm); });
      EXPECT_EQ(outcome.code, ErrorCode::failed);
      EXPECT_NE(outcome.what.find("rank 2 has not entered all_reduce"), std::string::npos)
          << outcome.what;
      EXPECT_TRUE(late.untouched());
      return;
    }
    Buffers buffers;
    const auto outcome = outcome_of([&] {
      comm.all_reduce(buffers.in.data(), buffers.out.data(), 100, ElementType::float32,
                      ReduceOp::sum, {.timeout = milliseconds(150)});
    });
    told.count_down();
    EXPECT_TRUE(buffers.untouched());
    const std::lock_guard lock(mutex);
    outcomes.push_back(outcome);
  });
  EXPECT_LT(watch.elapsed(), generous);
  ASSERT_EQ(outcomes.size(), 3u);
  for (const auto& outcome : outcomes)
    expect_missing(outcome, 2, "rank 2 has not entered all_reduce");
}

TEST(Missing, SeveralMissingRanksAreAllNamed) {
  std::latch told(2);
  World::threads(4).run([&](Communicator& comm) {
    if (comm.rank() >= 2) return told.wait();
    Buffers buffers;
    const auto outcome = outcome_of([&] {
      comm.all_reduce(buffers.in.data(), buffers.out.data(), 100, ElementType::float32,
                      ReduceOp::sum, {.timeout = milliseconds(100)});
    });
    told.count_down();
    expect_missing(outcome, 2, "ranks 2, 3 have not entered");
  });
}

TEST(Missing, ARankThatReturnedIsNotWaitedFor) {
  const Stopwatch watch;
  World::threads(3).run([](Communicator& comm) {
    expect_works(comm);
    if (comm.rank() == 1) return;
    Buffers buffers;  // the limit is the default of minutes
    const auto outcome = outcome_of([&] { buffers.call(comm); });
    expect_missing(outcome, 1, "rank 1 has returned without it");
  });
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(Missing, ARankThatThrowsFreesTheOthersAndItsErrorComesOut) {
  const Stopwatch watch;
  std::mutex mutex;
  std::vector<Outcome> outcomes;
  try {
    World::threads(4).run([&](Communicator& comm) {
      expect_works(comm);
      if (comm.rank() == 3) throw std::runtime_error("out of luck");
      Buffers buffers;
      const auto outcome = outcome_of([&] { buffers.call(comm); });
      const std::lock_guard lock(mutex);
      outcomes.push_back(outcome);
    });
    FAIL() << "run() must rethrow";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "out of luck");
  }
  ASSERT_EQ(outcomes.size(), 3u);
  for (const auto& outcome : outcomes)
    EXPECT_NE(outcome.what.find("rank 3 ended with: out of luck"), std::string::npos)
        << outcome.what;
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(Missing, AbortFromAnotherThreadFreesAllWaitingRanks) {
  const Stopwatch watch;
  World::threads(3).run([](Communicator& comm) {
    if (comm.rank() == 0) {
      std::this_thread::sleep_for(milliseconds(50));
      comm.abort("the user pressed a key");
      return;
    }
    Buffers buffers;
    const auto outcome = outcome_of([&] { buffers.call(comm); });
    EXPECT_TRUE(outcome.code == ErrorCode::aborted || outcome.code == ErrorCode::failed);
    EXPECT_NE(outcome.what.find("the user pressed a key"), std::string::npos);
    const auto later = outcome_of([&] { buffers.call(comm); });
    EXPECT_EQ(later.code, ErrorCode::failed);
    EXPECT_NE(later.what.find("the user pressed a key"), std::string::npos);
  });
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(Missing, ALongWaitSleeps) {
  // CPU time of this thread while it waits half a second for another: a spinning or yielding wait
  // would burn most of it.
  World::threads(2).run([](Communicator& comm) {
    if (comm.rank() == 1) std::this_thread::sleep_for(milliseconds(500));
    rusage before{}, after{};
    getrusage(RUSAGE_THREAD, &before);
    expect_works(comm);
    getrusage(RUSAGE_THREAD, &after);
    const auto seconds = [](const rusage& usage) {
      return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    };
    if (comm.rank() == 0) {
      EXPECT_LT(seconds(after) - seconds(before), 0.1);
    }
  });
}

}  // namespace
}  // namespace ringside::tests
