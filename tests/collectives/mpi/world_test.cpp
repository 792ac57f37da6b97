// SPDX-License-Identifier: MIT
/// What a user sees of ranks that are processes beyond right results: calls that differ, ranks that
/// do not come or return early, errors in a body, splits, messages, asynchronous calls, groups.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/group.hpp"
#include "ringside/tests/collectives/mpi/mpi_main.hpp"

namespace ringside::tests {
namespace {

TEST(MpiWorld, RunsFollowOneAnother) {
  for (int run = 0; run < 3; ++run)
    mpi_world().run([](Communicator& comm) {
      EXPECT_EQ(comm.size(), mpi_world().size());
      std::vector<float> data(1000, static_cast<float>(comm.rank() + 1));
      comm.all_reduce(std::span(data));
      EXPECT_EQ(data, std::vector<float>(1000, sum_of_ranks(comm.size())));
    });
}

TEST(MpiWorld, NoticesOfAnEarlierWorldMeanNothingToALaterOne) {
  if (mpi_world().size() < 2) GTEST_SKIP();
  World::mpi().run([](Communicator& comm) { comm.barrier(); });
  World::mpi().run([](Communicator& comm) {
    comm.barrier();
    // The others wait for so long that they look at what has come.
    if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_NO_THROW(comm.barrier());
  });
}

TEST(MpiWorld, RanksThatWereToldToCopyDifferentlyCopyAlike) {
  const std::vector<std::string> words = {"single", "staged", "auto"};
  for (std::size_t first = 0; first < words.size(); ++first) {
    set_option("mpi_copies", words[(first + static_cast<std::size_t>(mpi_rank())) % words.size()]);
    World::mpi().run([](Communicator& comm) {
      for (const char* spec : {"ring", "two_shot"}) {
        std::vector<float> data(300'000, static_cast<float>(comm.rank() + 1));
        comm.all_reduce(std::span(data), ReduceOp::sum, {.algorithm = spec});
        EXPECT_EQ(data, std::vector<float>(data.size(), sum_of_ranks(comm.size()))) << spec;
      }
    });
  }
  reset_option("mpi_copies");
}

TEST(MpiWorld, AMismatchIsToldToEveryRankAndTheCommunicatorWorksOn) {
  if (mpi_world().size() < 2) GTEST_SKIP();
  mpi_world().run([](Communicator& comm) {
    for (const std::size_t length : {std::size_t{10}, std::size_t{100'000}}) {
      std::vector<float> data(length + (comm.rank() == 1 ? 1 : 0), 1.0F);
      const auto before = data;
      EXPECT_EQ(code_of([&] { comm.all_reduce(std::span(data)); }), ErrorCode::mismatch);
      EXPECT_EQ(data, before);
      data.assign(length, 1.0F);
      comm.all_reduce(std::span(data));
      EXPECT_EQ(data.back(), static_cast<float>(comm.size()));
    }
  });
}

TEST(MpiWorld, ARankThatDoesNotComeIsNamedWithinTheLimit) {
  if (mpi_world().size() < 2) GTEST_SKIP();
  const int late = mpi_world().size() - 1;
  mpi_world().run([&](Communicator& comm) {
    std::vector<float> data(100, 1.0F);
    comm.barrier();
    if (comm.rank() == late) {
      std::this_thread::sleep_for(std::chrono::seconds(4));
      EXPECT_EQ(code_of([&] { comm.all_reduce(std::span(data)); }), ErrorCode::failed);
      return;
    }
    const Stopwatch since;
    try {
      comm.all_reduce(std::span(data), ReduceOp::sum, {.timeout = Seconds{0.4}});
      ADD_FAILURE() << "it came";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
      EXPECT_EQ(error.peer(), late) << error.what();
    }
    EXPECT_LT(since.elapsed().count(), 3.5);
    EXPECT_EQ(code_of([&] { comm.all_reduce(std::span(data)); }), ErrorCode::failed);
  });
}

TEST(MpiWorld, ARankThatReturnsWithoutACallIsNamed) {
  if (mpi_world().size() < 2) GTEST_SKIP();
  mpi_world().run([](Communicator& comm) {
    std::vector<float> data(100, 1.0F);
    comm.all_reduce(std::span(data));
    if (comm.rank() == 0) return;
    try {
      comm.all_reduce(std::span(data));
      ADD_FAILURE() << "it came";
    } catch (const Error& error) {
      EXPECT_EQ(error.peer(), 0) << error.what();
    }
  });
}

TEST(MpiWorld, AnErrorInABodyReachesAllRanks) {
  if (mpi_world().size() < 2) GTEST_SKIP();
  const auto run = [] {
    mpi_world().run([](Communicator& comm) {
      std::vector<float> data(100, 1.0F);
      comm.all_reduce(std::span(data));
      if (comm.rank() == 1) throw std::runtime_error("out of luck");
      comm.all_reduce(std::span(data));
    });
  };
  try {
    run();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("out of luck"), std::string::npos) << error.what();
  }
}

TEST(MpiWorld, PartsOfASplitWorkSideBySide) {
  mpi_world().run([](Communicator& comm) {
    for (int round = 0; round < 3; ++round) {
      auto part = comm.split(comm.rank() % 2, -comm.rank());
      ASSERT_TRUE(part);
      EXPECT_EQ(part->size(), (comm.size() + 1 - comm.rank() % 2) / 2);
      std::vector<float> data(5000, static_cast<float>(comm.rank()));
      part->all_reduce(std::span(data));
      float expected = 0;
      for (int rank = comm.rank() % 2; rank < comm.size(); rank += 2)
        expected += static_cast<float>(rank);
      EXPECT_EQ(data.front(), expected);
      part->all_reduce(std::span(data).first(3));
    }
    EXPECT_FALSE(comm.split(Communicator::no_color));
    comm.barrier();
  });
}

TEST(MpiWorld, TheMemoryOfPartsThatHaveGoneIsUsedAgain) {
  mpi_world().run([](Communicator& comm) {
    constexpr std::size_t floats = 100'000;
    const auto address = [&] {
      auto part = comm.split(0);
      std::vector<float> data(floats, 1.0F);
      part->all_reduce(std::span(data));
      return reinterpret_cast<std::uintptr_t>(
          part->shared_memory(floats * sizeof(float)).bytes().data());
    };
    const auto before = address();
    std::uintptr_t after = 0;
    for (int i = 0; i < 60; ++i) after = address();
    EXPECT_LT(after, before + 20 * floats * sizeof(float));
    comm.barrier();
  });
}

TEST(MpiWorld, MessagesGoRound) {
  if (mpi_world().size() < 2) GTEST_SKIP();
  mpi_world().run([](Communicator& comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int before = (comm.rank() + comm.size() - 1) % comm.size();
    for (const std::size_t length : {0, 1, 1000, 300'000}) {
      std::vector<std::int32_t> out(length, comm.rank()), in(length, -1);
      grouped([&] {
        comm.send(std::span<const std::int32_t>(out), next);
        comm.recv(std::span(in), before);
      });
      EXPECT_EQ(in, std::vector<std::int32_t>(length, before));
    }
    std::vector<std::int32_t> data(4 + static_cast<std::size_t>(comm.rank() == 1), comm.rank());
    if (comm.rank() < 2) {
      const auto code = code_of([&] {
        comm.rank() == 0 ? comm.send(std::span<const std::int32_t>(data), 1)
                         : comm.recv(std::span(data), 0);
      });
      EXPECT_EQ(code, ErrorCode::mismatch);
    }
    comm.barrier();
  });
}

TEST(MpiWorld, AsynchronousCallsAreCompleteWhenTheyWereWaitedFor) {
  mpi_world().run([](Communicator& comm) {
    std::vector<float> a(3000, 1.0F), b(70'000, 2.0F);
    auto first = comm.async().all_reduce(std::span(a));
    auto second = comm.async().all_reduce(std::span(b));
    second.wait();
    first.wait();
    EXPECT_EQ(a.back(), static_cast<float>(comm.size()));
    EXPECT_EQ(b.back(), 2.0F * static_cast<float>(comm.size()));
  });
}

TEST(MpiWorld, NobodyLeavesABarrierBeforeAllHaveCome) {
  mpi_world().run([](Communicator& comm) {
    for (int round = 0; round < 20; ++round) {
      if (comm.rank() == round % comm.size())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      double latest = now().count();  // one clock for all processes of a machine
      comm.barrier();
      const double left = now().count();
      comm.all_reduce(std::span(&latest, 1), ReduceOp::max);
      EXPECT_GE(left, latest);
    }
  });
}

}  // namespace
}  // namespace ringside::tests
