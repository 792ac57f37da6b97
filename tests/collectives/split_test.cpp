// SPDX-License-Identifier: MIT
/// Splitting: who goes with whom, communicators that do not disturb each other, and ranks that are
/// missing in all of theirs.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using std::chrono::milliseconds;
constexpr auto generous = std::chrono::seconds(30);

/// A number that every rank gives, in the order of the ranks.
std::vector<int> gathered(Communicator& comm, int number) {
  std::vector<int> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::array{number}, all);
  return all;
}

TEST(Split, TheRanksOfAColorAreTogetherInTheOrderOfTheParent) {
  World::threads(7).run([](Communicator& comm) {
    auto part = comm.split(comm.rank() % 3);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->rank(), comm.rank() / 3);
    std::vector<int> expected;
    for (int rank = comm.rank() % 3; rank < 7; rank += 3) expected.push_back(rank);
    EXPECT_EQ(part->size(), static_cast<int>(expected.size()));
    EXPECT_EQ(gathered(*part, comm.rank()), expected);
    EXPECT_EQ(gathered(comm, comm.rank()), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  });
}

TEST(Split, KeysOrderTheRanksAndEqualKeysKeepTheirs) {
  World::threads(5).run([](Communicator& comm) {
    auto reversed = comm.split(1000000, -comm.rank());
    EXPECT_EQ(gathered(*reversed, comm.rank()), (std::vector<int>{4, 3, 2, 1, 0}));
    auto paired = comm.split(0, comm.rank() % 2);
    EXPECT_EQ(gathered(*paired, comm.rank()), (std::vector<int>{0, 2, 4, 1, 3}));
  });
}

TEST(Split, ARankWithoutColorGetsNothing) {
  World::threads(4).run([](Communicator& comm) {
    auto part = comm.split(comm.rank() == 2 ? Communicator::no_color : 3);
    EXPECT_EQ(part.has_value(), comm.rank() != 2);
    if (part) {
      EXPECT_EQ(gathered(*part, comm.rank()), (std::vector<int>{0, 1, 3}));
    }
    EXPECT_FALSE(comm.split(Communicator::no_color));
  });
}

TEST(Split, NegativeColorsAreRefused) {
  World::threads(1).run([](Communicator& comm) {
    EXPECT_EQ(outcome_of([&] { (void)comm.split(-2); }).code, ErrorCode::invalid_argument);
  });
}

TEST(Split, PartsCanBeSplitAgainAndAllWorkSideBySide) {
  World::threads(8).run([](Communicator& comm) {
    const int me = comm.rank();
    auto half = comm.split(me / 4);
    auto pair = half->split(half->rank() / 2, -half->rank());
    auto single = pair->split(pair->rank());
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(gathered(*pair, me), (std::vector<int>{me | 1, me & ~1}));
      EXPECT_EQ(gathered(*single, me), std::vector<int>{me});
      const int first = me / 4 * 4;
      EXPECT_EQ(gathered(*half, me), (std::vector<int>{first, first + 1, first + 2, first + 3}));
      std::vector<int> data(100 * static_cast<std::size_t>(i), 1);
      comm.all_reduce(data, ReduceOp::sum, {.algorithm = "ring"});
      EXPECT_EQ(data, std::vector<int>(data.size(), 8));
    }
  });
}

TEST(Split, ManySplitsInARow) {
  World::threads(3).run([](Communicator& comm) {
    std::optional<Communicator> part;
    for (int i = 0; i < 200; ++i) {
      part = comm.split(0, i % 2 == 0 ? comm.rank() : -comm.rank());
      ASSERT_EQ(part->rank(), i % 2 == 0 ? comm.rank() : 2 - comm.rank());
      part->barrier();
    }
  });
}

TEST(Split, DifferentCommunicatorsMayBeSplitByDifferentThreads) {
  World::threads(3).run([](Communicator& comm) {
    auto one = comm.split(0), other = comm.split(0);
    const auto work = [&](Communicator& own) {
      for (int i = 0; i < 20; ++i) {
        auto part = own.split(own.rank() % 2);
        EXPECT_EQ(gathered(*part, 0).size(), own.rank() == 1 ? 1U : 2U);
      }
    };
    std::jthread thread([&] { work(*one); });
    work(*other);
  });
}

TEST(Split, OutstandingCallsOfTheParentComeFirst) {
  World::threads(3).run([](Communicator& comm) {
    std::vector<int> data(10000, 1);
    auto handle = comm.async().all_reduce(data);
    auto part = comm.split(0);
    EXPECT_TRUE(handle.done());
    EXPECT_EQ(data, std::vector<int>(10000, 3));
    part->barrier();
  });
}

// --- ranks that do not agree, or are missing -----------------------------------------------------

TEST(Split, ADifferentCallIsAMismatchAndTheCommunicatorWorksOn) {
  World::threads(3).run([](Communicator& comm) {
    const auto expect_mismatch = [&](const auto& other_call, const char* name) {
      const auto outcome = outcome_of([&] {
        if (comm.rank() == 1)
          other_call();
        else
          (void)comm.split(0);
      });
      EXPECT_EQ(outcome.code, ErrorCode::mismatch) << outcome.what;
      EXPECT_TRUE(outcome.says("collective (split and " + std::string(name) + ")")) << outcome.what;
    };
    std::vector<int> data(10), two(2), all(6);
    expect_mismatch([&] { comm.all_reduce(data); }, "all_reduce");
    expect_mismatch([&] { comm.barrier(); }, "barrier");
    // Just what a split exchanges.
    expect_mismatch([&] { comm.all_gather(two, all, {.algorithm = "direct"}); }, "all_gather");
    EXPECT_EQ(all, std::vector<int>(6));
    auto part = comm.split(0);
    part->barrier();
  });
}

TEST(Split, AMissingRankIsNamed) {
  World::threads(3).run([](Communicator& comm) {
    if (comm.rank() == 1) return;
    const auto outcome = outcome_of([&] { (void)comm.split(0); });
    expect_cause(outcome, ErrorCode::timeout, "rank 1 has returned without it");
  });
}

TEST(Split, AFailureOfThePartLeavesTheWholeAlone) {
  World::threads(3).run([](Communicator& comm) {
    auto part = comm.split(0);
    std::vector<int> data(10);
    if (comm.rank() == 0) part->abort("only this one");
    const auto outcome = outcome_of([&] {
      for (;;) part->all_reduce(data);
    });
    expect_cause(outcome, ErrorCode::aborted, "only this one");
    EXPECT_EQ(gathered(comm, 1), std::vector<int>(3, 1));
  });
}

TEST(Split, AFailureOfTheWholeLeavesThePartAlone) {
  World::threads(3).run([](Communicator& comm) {
    auto part = comm.split(0);
    part->barrier();
    if (comm.rank() == 0) comm.abort("only this one");
    expect_cause(outcome_of([&] {
                   for (;;) comm.barrier();
                 }),
                 ErrorCode::aborted, "only this one");
    EXPECT_EQ(gathered(*part, 1), std::vector<int>(3, 1));
  });
}

TEST(Split, TheRanksOfAPartAreNamedAsThePartCountsThem) {
  World::threads(4).run([](Communicator& comm) {
    auto part = comm.split(comm.rank() == 0 ? 0 : 1);
    if (comm.rank() == 0) return part->barrier();
    if (part->rank() == 1) return;
    std::vector<int> data(10);
    const auto outcome = outcome_of([&] { part->all_reduce(data); });
    expect_cause(outcome, ErrorCode::timeout, "rank 1 has returned without it");
    EXPECT_EQ(outcome.rank, part->rank());
  });
}

TEST(Split, ARankThatThrowsIsMissingInEveryCommunicatorItBelongsTo) {
  const Stopwatch watch;
  EXPECT_THROW(World::threads(4).run([](Communicator& comm) {
    auto others = comm.split(comm.rank() == 3 ? 1 : 0);
    auto with = comm.split(0);
    auto nested = with->split(comm.rank() % 2);
    if (comm.rank() == 3) throw std::runtime_error("out of luck");
    std::vector<int> data(10);
    Communicator& waiting = comm.rank() == 0 ? *with : comm.rank() == 1 ? *nested : comm;
    const auto outcome = outcome_of([&] { waiting.all_reduce(data); });
    expect_cause(outcome, ErrorCode::aborted, "rank 3 ended with: out of luck");
    EXPECT_EQ(gathered(*others, comm.rank()), (std::vector<int>{0, 1, 2}));
  }),
               std::runtime_error);
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(Split, ANewRunBeginsAfresh) {
  auto world = World::threads(2);
  EXPECT_THROW(world.run([](Communicator& comm) {
    auto part = comm.split(0);
    if (comm.rank() == 0) throw std::runtime_error("once");
    part->barrier();
  }),
               std::runtime_error);
  world.run([](Communicator& comm) {
    auto part = comm.split(0);
    EXPECT_EQ(gathered(*part, 3), (std::vector<int>{3, 3}));
  });
}

}  // namespace
}  // namespace ringside::tests
