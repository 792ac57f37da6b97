// SPDX-License-Identifier: MIT
/// Groups: nothing starts before the end, and nobody waits for another's order. (What fails:
/// group_failing_test.cpp.)
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/group.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

TEST(Group, CallsStartWhenItEndsAndAreOverThen) {
  World::threads(3).run([](Communicator& comm) {
    std::vector<int> data(100, 1), other(100, 2);
    grouped([&] {
      comm.all_reduce(data);
      comm.all_reduce(other, ReduceOp::prod);
      EXPECT_EQ(data[0], 1);
    });
    EXPECT_EQ(data, std::vector<int>(100, 3));
    EXPECT_EQ(other, std::vector<int>(100, 8));
  });
}

TEST(Group, TheBitsAreThoseOfBlockingCalls) {
  World::threads(4).run([](Communicator& comm) {
    auto part = comm.split(comm.rank() / 2);
    for (const char* algorithm : {"ring:slices=3", "two_shot", "halving_doubling"}) {
      std::vector<float> blocking(1237), in_group, asynchronous;
      for (std::size_t i = 0; i < blocking.size(); ++i)
        blocking[i] = 0.1F * static_cast<float>(i + 7 * static_cast<std::size_t>(comm.rank()));
      in_group = asynchronous = blocking;
      const CallOptions options{.algorithm = algorithm};
      comm.all_reduce(blocking, ReduceOp::avg, options);
      Handle handle;
      grouped([&] {
        part->barrier();
        comm.all_reduce(in_group, ReduceOp::avg, options);
        handle = comm.async().all_reduce(asynchronous, ReduceOp::avg, options);
      });
      EXPECT_EQ(in_group, blocking);
      handle.wait();
      EXPECT_EQ(asynchronous, blocking);
    }
  });
}

TEST(Group, RanksMaySendToEachOtherInAnyOrder) {
  for (const bool receive_first : {false, true})
    World::threads(4).run([&](Communicator& comm) {
      const int n = comm.size(), me = comm.rank();
      std::vector<std::vector<int>> out, in;
      for (int peer = 0; peer < n; ++peer) {
        out.emplace_back(1000, 10 * me + peer);
        in.emplace_back(1000);
      }
      const auto at = [](auto& buffers, int peer) -> auto& {
        return buffers[static_cast<std::size_t>(peer)];
      };
      grouped([&] {  // with itself, too
        if (receive_first)
          for (int peer = n - 1; peer >= 0; --peer) comm.recv(at(in, peer), peer);
        for (int peer = 0; peer < n; ++peer) comm.send(at(out, peer), peer);
        if (!receive_first)
          for (int peer = 0; peer < n; ++peer) comm.recv(at(in, peer), peer);
      });
      for (int peer = 0; peer < n; ++peer)
        EXPECT_EQ(at(in, peer), std::vector<int>(1000, 10 * peer + me));
    });
}

TEST(Group, AMessageToOneselfMayLieWhereItIsToGo) {
  const Stopwatch watch;
  World::threads(2).run([](Communicator& comm) {
    const int me = comm.rank();
    std::vector<int> data{1, 2, 3, 4, 5};
    for (const bool receive_first : {false, true})
      grouped([&] {
        const auto half = std::span(data);
        if (receive_first) comm.recv(half.last(4), me);
        comm.send(half.first(4), me);
        if (!receive_first) comm.recv(half.last(4), me);
      });
    EXPECT_EQ(data, (std::vector<int>{1, 1, 1, 2, 3}));
    std::vector<Handle> handles;  // the next such message waits for the first
    for (int i = 0; i < 2; ++i)
      grouped([&] {
        handles.push_back(comm.async().send(std::span(data).last(4), me));
        handles.push_back(comm.async().recv(std::span(data).first(4), me));
      });
    for (auto& handle : handles) handle.wait();
    EXPECT_EQ(data, (std::vector<int>{1, 2, 3, 3, 3}));
  });
  EXPECT_LT(watch.elapsed(), std::chrono::seconds(30));
}

TEST(Group, ACollectiveBetweenThemLetsMessagesOfACommunicatorShareMemory) {
  World::threads(2).run([](Communicator& comm) {
    const int other = 1 - comm.rank();
    std::vector<int> data(10), out(10, comm.rank());
    grouped([&] {
      comm.recv(data, other);
      comm.send(out, other);
      comm.barrier();
      comm.send(data, other);
      comm.recv(out, other);
    });
    EXPECT_EQ(out, std::vector<int>(10, comm.rank()));
    EXPECT_EQ(data, std::vector<int>(10, other));
  });
}

TEST(Group, AReceiverServesWhoeverHasSent) {
  // Rank 0 lists rank 1 first, which sends only when rank 2's message to rank 0 has been taken.
  World::threads(3).run([](Communicator& comm) {
    std::vector<int> data(100, comm.rank()), other(100);
    if (comm.rank() == 0) {
      grouped([&] {
        comm.recv(data, 1);
        comm.recv(other, 2);
      });
      EXPECT_EQ(data, std::vector<int>(100, 1));
      EXPECT_EQ(other, std::vector<int>(100, 2));
    } else if (comm.rank() == 1) {
      comm.recv(other, 2);
      comm.send(data, 0);
    } else {
      comm.send(data, 0);
      comm.send(data, 1);
    }
  });
}

TEST(Group, MessagesOfAPairArriveInTheirOrderWheneverTheyAreSent) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<int> data(40);
    for (int attempt = 0; attempt < 1000; ++attempt) {
      std::vector<int> expected(data.size());
      std::iota(expected.begin(), expected.end(), 100 * attempt);
      if (comm.rank() == 1) {
        data = expected;
        const Stopwatch watch;  // the receiver looks meanwhile, or does not yet
        while (watch.elapsed() < std::chrono::microseconds(attempt % 16)) {
        }
      }
      grouped([&] {
        for (auto& one : data)
          comm.rank() == 0 ? comm.recv(&one, 1, ElementType::int32, 1)
                           : comm.send(&one, 1, ElementType::int32, 0);
      });
      ASSERT_EQ(data, expected);
    }
  });
}

TEST(Group, TwentyThousandMessagesAreNoBurden) {
  const Stopwatch watch;
  World::threads(2).run([](Communicator& comm) {
    std::vector<int> data(20000, comm.rank());
    const auto transfer = [&](auto& calls, int& one) {
      return comm.rank() == 0 ? calls.recv(&one, 1, ElementType::int32, 1)
                              : calls.send(&one, 1, ElementType::int32, 0);
    };
    grouped([&] {
      for (int& one : data) transfer(comm, one);
    });
    EXPECT_EQ(data, std::vector<int>(data.size(), 1));
    data.assign(data.size(), comm.rank() + 1);
    auto async = comm.async();
    std::vector<Handle> handles;
    for (int& one : data) handles.push_back(transfer(async, one));
    for (Handle& handle : handles) handle.wait();
    EXPECT_EQ(data, std::vector<int>(data.size(), 2));
  });
  EXPECT_LT(watch.elapsed(), std::chrono::seconds(30));
}

TEST(Group, CommunicatorsMayBeListedInDifferentOrders) {
  World::threads(4).run([](Communicator& comm) {
    std::vector<Communicator> all;
    for (int i = 0; i < 3; ++i) all.push_back(*comm.split(0));
    for (int attempt = 0; attempt < 20; ++attempt) {
      std::vector<std::vector<int>> data(3, std::vector<int>(2000, 1));
      grouped([&] {
        for (int i = 0; i < 3; ++i) {
          const auto which = static_cast<std::size_t>((i * (comm.rank() % 2 + 1) + attempt) % 3);
          all[which].all_reduce(data[which]);
          all[which].all_reduce(data[which]);
        }
        for (std::size_t i = 0; i < 3; ++i) all[i].barrier();
      });
      for (const auto& one : data) ASSERT_EQ(one, std::vector<int>(2000, 16));
    }
  });
}

TEST(Group, AGroupMayMixMessagesAndCollectives) {
  World::threads(2).run([](Communicator& comm) {
    const int other = 1 - comm.rank();
    std::vector<int> sum(100, 1), out(100, comm.rank()), in(100), sent_sum(100);
    grouped([&] {
      comm.recv(in, other);
      comm.send(out, other);
      comm.all_reduce(sum);
      comm.send(sum, other);
      comm.recv(sent_sum, other);
    });
    EXPECT_EQ(in, std::vector<int>(100, other));
    EXPECT_EQ(sent_sum, std::vector<int>(100, 2));
  });
}

TEST(Group, GroupsNestAndTheOutermostEndCounts) {
  World::threads(2).run([](Communicator& comm) {
    const int other = 1 - comm.rank();
    const std::vector<int> out(10, comm.rank());
    std::vector<int> in(10);
    grouped([&] {
      grouped([&] { comm.send(out, other); });
      grouped([&] { comm.recv(in, other); });
    });
    EXPECT_EQ(in, std::vector<int>(10, other));
  });
}

TEST(Group, TheTwoHalvesDoTheSame) {
  World::threads(2).run([](Communicator& comm) {
    const int other = 1 - comm.rank();
    const std::vector<int> out(10, comm.rank());
    std::vector<int> in(10);
    group_start();
    comm.send(out, other);
    comm.recv(in, other);
    group_end();
    EXPECT_EQ(in, std::vector<int>(10, other));
    EXPECT_EQ(outcome_of([] { group_end(); }).code, ErrorCode::invalid_argument);
    EXPECT_EQ(outcome_of([] { group_discard(); }).code, ErrorCode::invalid_argument);
  });
}

TEST(Group, AnEmptyGroupIsLegal) {
  grouped([] { grouped([] {}); });
}

// --- handles -------------------------------------------------------------------------------------

TEST(Group, AHandleOfAnOpenGroupCannotBeWaitedFor) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<int> data(10, 1);
    Handle handle;
    grouped([&] {
      handle = comm.async().all_reduce(data);
      EXPECT_FALSE(handle.done());
      EXPECT_EQ(outcome_of([&] { handle.wait(); }).code, ErrorCode::invalid_argument);
    });
    handle.wait();
    EXPECT_EQ(data, std::vector<int>(10, 2));
  });
}

TEST(Group, AHandleDroppedInAnOpenGroupIsWaitedForAtItsEnd) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<int> data(1000, 1);
    grouped([&] { (void)comm.async().all_reduce(data); });
    EXPECT_EQ(data, std::vector<int>(1000, 2));
  });
}

TEST(Group, AGroupOfAsynchronousCallsDoesNotWait) {
  // Rank 0 enters the barrier only after its group has ended.
  World::threads(2).run([](Communicator& comm) {
    auto part = comm.split(0);
    Handle handle;
    if (comm.rank() == 0) {
      grouped([&] { handle = part->async().barrier(); });
      comm.barrier();
    } else {
      comm.barrier();
      handle = part->async().barrier();
    }
    handle.wait();
  });
}

TEST(Group, ACommunicatorMayGoWhileItsCallsAreNoted) {
  World::threads(3).run([](Communicator& comm) {
    std::vector<int> data(1000, 1), other(1000, 1);
    Handle handle;
    auto part = comm.split(0);
    grouped([&] {
      part->all_reduce(data);
      handle = part->async().all_reduce(other);
      part.reset();
    });
    EXPECT_EQ(data, std::vector<int>(1000, 3));
    handle.wait();
    EXPECT_EQ(other, data);
  });
}

}  // namespace
}  // namespace ringside::tests
