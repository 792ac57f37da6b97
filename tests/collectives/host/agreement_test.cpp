// SPDX-License-Identifier: MIT
/// Ranks that do not agree, do not come, or give up: every rank gets an error that says what or
/// who, within the time limit; after a mismatch the communicator works on, after anything else it
/// tells the first cause.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/world.hpp"

namespace ringside::tests {
namespace {

using std::chrono::milliseconds;

struct Outcome {
  ErrorCode code = ErrorCode::internal;
  std::string what;
  std::optional<int> rank, peer;
};

/// Runs `call` on this rank and returns the error it threw; a call that returns is a failure.
template <class Body>
Outcome error_of(Body call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what(), error.rank(), error.peer()};
  }
  ADD_FAILURE() << "no error";
  return {};
}

struct Arguments {
  std::size_t elements = 100;
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = false;
  std::string algorithm = "ring";
  double scalar = 1.0;
};

/// One rank's buffers, filled so that any write shows.
struct Buffers {
  std::vector<std::byte> in = std::vector<std::byte>(8192, std::byte{1});
  std::vector<std::byte> out = std::vector<std::byte>(8192, std::byte{2});

  void call(Communicator& comm, const Arguments& a) {
    comm.all_reduce(in.data(), a.in_place ? in.data() : out.data(), a.elements, a.type, a.op,
                    {.algorithm = a.algorithm, .scalar = a.scalar});
  }
  [[nodiscard]] bool untouched() const {
    return in == std::vector<std::byte>(8192, std::byte{1}) &&
           out == std::vector<std::byte>(8192, std::byte{2});
  }
};

void expect_works(Communicator& comm) {
  std::vector<float> data(37, static_cast<float>(comm.rank() + 1));
  comm.all_reduce(std::span(data), ReduceOp::sum, {.algorithm = "two_shot"});
  const int n = comm.size();
  for (const float value : data) ASSERT_EQ(value, static_cast<float>(n * (n + 1)) / 2);
}

/// Every rank calls with `usual`, the odd one with `odd`; all must be told that `what` differs, and
/// both values, rank 0's first.
void expect_mismatch(const Arguments& usual, const Arguments& odd, const std::string& what,
                     const std::string& usual_value, const std::string& odd_value) {
  for (int odd_rank = 0; odd_rank < 4; ++odd_rank)
    World::threads(4).run([&](Communicator& comm) {
      expect_works(comm);
      Buffers buffers;
      const auto outcome =
          error_of([&] { buffers.call(comm, comm.rank() == odd_rank ? odd : usual); });
      EXPECT_EQ(outcome.code, ErrorCode::mismatch) << outcome.what;
      const std::string told = odd_rank == 0
                                   ? what + " (" + odd_value + " and " + usual_value + ")"
                                   : what + " (" + usual_value + " and " + odd_value + ")";
      EXPECT_NE(outcome.what.find(told), std::string::npos) << outcome.what;
      EXPECT_EQ(outcome.what.find('\n'), std::string::npos) << outcome.what;
      EXPECT_EQ(outcome.rank, comm.rank());
      EXPECT_TRUE(buffers.untouched());
      expect_works(comm);
    });
}

TEST(Agreement, DifferentLengthsAreNamed) {
  expect_mismatch({}, {.elements = 101}, "elements", "100", "101");
}
TEST(Agreement, ZeroElementsAgainstSomeAreNamed) {
  expect_mismatch({}, {.elements = 0}, "elements", "100", "0");
}
TEST(Agreement, DifferentTypesAreNamed) {
  expect_mismatch({}, {.type = ElementType::int32}, "type", "float32", "int32");
}
TEST(Agreement, DifferentOperatorsAreNamed) {
  expect_mismatch({}, {.op = ReduceOp::max}, "operator", "sum", "max");
}
TEST(Agreement, DifferentPlacementsAreNamed) {
  expect_mismatch({}, {.in_place = true}, "placement", "out of place", "in place");
}
TEST(Agreement, DifferentAlgorithmsAreNamed) {
  expect_mismatch({}, {.algorithm = "naive"}, "algorithm", "ring", "naive");
  expect_mismatch({}, {.algorithm = "ring:slices=2"}, "algorithm", "ring", "ring:slices=2");
}
TEST(Agreement, DifferentScalarsAreNamed) {
  expect_mismatch({.op = ReduceOp::premul_sum, .scalar = 0.5},
                  {.op = ReduceOp::premul_sum, .scalar = 0.25}, "scalar", "0.5", "0.25");
}
TEST(Agreement, SeveralDifferencesAreAllNamed) {
  const Arguments odd{.elements = 7, .type = ElementType::float64, .op = ReduceOp::min};
  expect_mismatch({}, odd, "elements", "100", "7");
  expect_mismatch({}, odd, "type", "float32", "float64");
  expect_mismatch({}, odd, "operator", "sum", "min");
}
TEST(Agreement, MismatchesInARowAreToldOneByOne) {
  World::threads(3).run([](Communicator& comm) {
    for (int i = 0; i < 50; ++i) {
      Buffers buffers;
      const auto outcome =
          error_of([&] { buffers.call(comm, {.elements = comm.rank() == i % 3 ? 11u : 10u}); });
      ASSERT_EQ(outcome.code, ErrorCode::mismatch);
      expect_works(comm);
    }
  });
}

TEST(Agreement, ABadSpecIsRefusedOnEveryRankAndTheCommunicatorWorksOn) {
  World::threads(3).run([](Communicator& comm) {
    Buffers buffers;
    const auto outcome = error_of([&] { buffers.call(comm, {.algorithm = "rong"}); });
    EXPECT_EQ(outcome.code, ErrorCode::bad_input);
    EXPECT_NE(outcome.what.find("rong"), std::string::npos);
    expect_works(comm);
  });
}

TEST(Agreement, EmptyMessagesAgreeWhereverTheyLie) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<float> in, out;
    if (comm.rank() == 1) {
      in.reserve(1);
      out.reserve(1);
    }
    comm.all_reduce(in, std::span(out));
  });
}

TEST(Arguments, TheOutputDecidesTheTypeAndTheInputConverts) {
  World::threads(1).run([](Communicator& comm) {
    std::vector<float> data = {1, 2}, sum(2);
    comm.all_reduce(data, std::span(sum));
    EXPECT_EQ(sum, data);
    comm.all_reduce(std::span(data).first(1), std::span(sum).last(1));
    EXPECT_EQ(sum[1], 1);
  });
}

TEST(Arguments, UnknownTypesAndOperatorsAreRefused) {
  World::threads(1).run([](Communicator& comm) {
    std::vector<float> data(8);
    const auto code = [&](int type, int op) {
      return error_of([&] {
               comm.all_reduce(data.data(), data.data(), 8, static_cast<ElementType>(type),
                               static_cast<ReduceOp>(op));
             })
          .code;
    };
    EXPECT_EQ(code(77, 0), ErrorCode::invalid_argument);
    EXPECT_EQ(code(-1, 0), ErrorCode::invalid_argument);
    EXPECT_EQ(code(0, 77), ErrorCode::invalid_argument);
  });
}

TEST(Arguments, BuffersThatMakeNoSenseAreRefusedBeforeTheCall) {
  World::threads(1).run([](Communicator& comm) {
    std::vector<float> data(8);
    const auto code = [&](auto call) { return error_of(call).code; };
    EXPECT_EQ(code([&] {
                comm.all_reduce(nullptr, data.data(), 8, ElementType::float32, ReduceOp::sum);
              }),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code([&] {
                comm.all_reduce(data.data(), data.data() + 1, 4, ElementType::float32,
                                ReduceOp::sum);
              }),
              ErrorCode::invalid_argument);
    EXPECT_EQ(
        code([&] { comm.all_reduce(std::span<const float>(data), std::span(data).first(3)); }),
        ErrorCode::invalid_argument);
    comm.all_reduce(nullptr, nullptr, 0, ElementType::float32, ReduceOp::sum);
  });
}

// --- somebody is missing ---------------------------------------------------------------------

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
      const auto outcome = error_of([&] { late.call(comm, {}); });
      EXPECT_EQ(outcome.code, ErrorCode::failed);
      EXPECT_NE(outcome.what.find("rank 2 has not entered all_reduce"), std::string::npos)
          << outcome.what;
      EXPECT_TRUE(late.untouched());
      return;
    }
    Buffers buffers;
    const auto outcome = error_of([&] {
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
    const auto outcome = error_of([&] {
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
    const auto outcome = error_of([&] { buffers.call(comm, {}); });
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
      const auto outcome = error_of([&] { buffers.call(comm, {}); });
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
    const auto outcome = error_of([&] { buffers.call(comm, {}); });
    EXPECT_TRUE(outcome.code == ErrorCode::aborted || outcome.code == ErrorCode::failed);
    EXPECT_NE(outcome.what.find("the user pressed a key"), std::string::npos);
    const auto later = error_of([&] { buffers.call(comm, {}); });
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
