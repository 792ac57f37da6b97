// SPDX-License-Identifier: MIT
/// Where the MPI lets only one thread call it, asynchronous calls go on where that thread waits for
/// one or tests one, whatever order ranks do that in; nothing that works with threads blocks.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"
#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/executors/mpi/transport.hpp"
#include "ringside/collectives/group.hpp"
#include "ringside/tests/collectives/mpi/mpi_main.hpp"

namespace ringside::tests {
namespace {

constexpr std::size_t many = 70'000;  // does not travel in the call

class OneThread : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(mpi::transport().any_thread());
    ASSERT_GE(mpi_world().size(), 2);
  }
};

void test_until_done(Handle& handle) {
  const Stopwatch since;
  while (!handle.done()) {
    ASSERT_LT(since.elapsed().count(), 60);
    std::this_thread::yield();
  }
}

TEST_F(OneThread, CallsGoOnWhereTheyAreWaitedFor) {
  mpi_world().run([](Communicator& comm) {
    std::vector<float> a(3, 1.0F), b(many, 2.0F);
    auto first = comm.async().all_reduce(std::span(a));
    auto second = comm.async().all_reduce(std::span(b));
    second.wait();
    EXPECT_TRUE(first.done());
    first.wait();
    EXPECT_EQ(a.back(), static_cast<float>(comm.size()));
    EXPECT_EQ(b.back(), 2.0F * static_cast<float>(comm.size()));
  });
}

TEST_F(OneThread, ATestDoesNotWaitForOtherRanks) {
  mpi_world().run([](Communicator& comm) {
    for (const std::size_t count : {std::size_t{5}, many}) {
      std::vector<float> data(count, 1.0F);
      std::vector<std::int32_t> word(1, 7);
      if (comm.rank() == 0) {
        // The others make the call only when they have the message.
        auto part = comm.split(0);
        ASSERT_TRUE(part);
        auto call = comm.async().all_reduce(std::span(data));
        EXPECT_FALSE(call.done());
        for (int peer = 1; peer < comm.size(); ++peer)
          part->send(std::span<const std::int32_t>(word), peer);
        test_until_done(call);
        call.wait();
      } else {
        auto part = comm.split(0);
        ASSERT_TRUE(part);
        part->recv(std::span(word), 0);
        comm.all_reduce(std::span(data));
      }
      EXPECT_EQ(data, std::vector<float>(count, static_cast<float>(comm.size())));
    }
  });
}

TEST_F(OneThread, RanksMayWaitForCallsOfSeveralCommunicatorsInAnyOrder) {
  mpi_world().run([](Communicator& comm) {
    auto other = comm.split(0);
    ASSERT_TRUE(other);
    std::vector<float> a(many, 1.0F), b(many, 2.0F);
    auto first = comm.async().all_reduce(std::span(a));
    auto second = other->async().all_reduce(std::span(b));
    if (comm.rank() % 2 == 0) {
      first.wait();
      second.wait();
    } else {
      second.wait();
      first.wait();
    }
    // And a blocking call on one of them while the other has one under way.
    auto third = comm.async().all_reduce(std::span(a));
    if (comm.rank() % 2 == 0) third.wait();
    other->all_reduce(std::span(b));
    third.wait();
    const auto n = static_cast<float>(comm.size());
    EXPECT_EQ(a.front(), n * n);
    EXPECT_EQ(b.front(), 2 * n * n);
  });
}

TEST_F(OneThread, MessagesAndGroupsGoOnAsWell) {
  mpi_world().run([](Communicator& comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int before = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<std::int32_t> out(many, comm.rank()), in(many, -1);
    auto sent = comm.async().send(std::span<const std::int32_t>(out), next);
    auto received = comm.async().recv(std::span(in), before);
    sent.wait();
    test_until_done(received);
    EXPECT_EQ(in, std::vector<std::int32_t>(many, before));
    std::vector<float> data(many, 1.0F);
    grouped([&] {
      comm.send(std::span<const std::int32_t>(out), next);
      comm.recv(std::span(in), before);
      comm.all_reduce(std::span(data));
    });
    EXPECT_EQ(data.back(), static_cast<float>(comm.size()));
  });
}

TEST_F(OneThread, CallsThatNobodyWaitsForAreOverWithTheRun) {
  std::vector<float> data(many, 1.0F);
  mpi_world().run([&](Communicator& comm) {
    std::vector<Handle> handles;
    for (int i = 0; i < 3; ++i) handles.push_back(comm.async().all_reduce(std::span(data)));
  });
  const auto n = static_cast<float>(mpi_world().size());
  EXPECT_EQ(data.back(), n * n * n);
}

TEST_F(OneThread, ARankThatDoesNotComeIsNamed) {
  const int late = mpi_world().size() - 1;
  mpi_world().run([&](Communicator& comm) {
    std::vector<float> data(many, 1.0F);
    comm.barrier();
    if (comm.rank() == late) {
      std::this_thread::sleep_for(std::chrono::seconds(3));
      return;
    }
    auto call = comm.async().all_reduce(std::span(data), ReduceOp::sum, {.timeout = Seconds{0.3}});
    try {
      call.wait();
      ADD_FAILURE() << "it came";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
      EXPECT_EQ(error.peer(), late) << error.what();
    }
  });
}

}  // namespace
}  // namespace ringside::tests
