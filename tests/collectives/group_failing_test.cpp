// SPDX-License-Identifier: MIT
/// Groups: what fails or is discarded says so, and leaves nobody waiting.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/group.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using std::chrono::milliseconds;

TEST(Group, IfTheBodyThrowsNothingRuns) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<int> data(10, 1);
    Handle handle;
    EXPECT_THROW(grouped([&] {
                   comm.all_reduce(data);
                   handle = comm.async().all_reduce(data);
                   group_start();  // left open by the exception
                   throw std::runtime_error("out of luck");
                 }),
                 std::runtime_error);
    const auto outcome = outcome_of([&] { handle.wait(); });
    EXPECT_EQ(outcome.code, ErrorCode::aborted);
    EXPECT_TRUE(outcome.says("the group was discarded")) << outcome.what;
    comm.all_reduce(data);  // not in a group any more
    EXPECT_EQ(data, std::vector<int>(10, 2));
  });
}

TEST(Group, DiscardingAnInnerGroupLeavesTheOuterOne) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<int> kept(10, 1), dropped(10, 1);
    grouped([&] {
      comm.all_reduce(kept);
      group_start();
      comm.all_reduce(dropped);
      group_discard();
    });
    EXPECT_EQ(kept, std::vector<int>(10, 2));
    EXPECT_EQ(dropped, std::vector<int>(10, 1));
  });
}

TEST(Group, ABodyThatDoesNotPairStartAndEndIsRefused) {
  EXPECT_EQ(outcome_of([] { grouped([] { group_start(); }); }).code, ErrorCode::invalid_argument);
  EXPECT_EQ(outcome_of([] { grouped([] { group_end(); }); }).code, ErrorCode::invalid_argument);
  EXPECT_EQ(outcome_of([] { group_end(); }).code, ErrorCode::invalid_argument);
}

TEST(Group, TheFirstErrorIsThrownWhenAllCallsAreOver) {
  World::threads(2).run([](Communicator& comm) {
    auto part = comm.split(0);
    std::vector<int> odd(comm.rank() == 0 ? 9 : 10), right(1000, 1);
    const auto outcome = outcome_of([&] {
      grouped([&] {
        comm.all_reduce(odd);
        part->all_reduce(right);
      });
    });
    EXPECT_EQ(outcome.code, ErrorCode::mismatch);
    EXPECT_EQ(right, std::vector<int>(1000, 2));
    comm.barrier();
  });
}

TEST(Group, AnErrorOfAnAsynchronousCallComesOutOfItsHandle) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<int> odd(comm.rank() == 0 ? 9 : 10), right(1000, 1);
    Handle handle;
    grouped([&] {
      handle = comm.async().all_reduce(odd);
      comm.all_reduce(right);
    });
    EXPECT_EQ(outcome_of([&] { handle.wait(); }).code, ErrorCode::mismatch);
    EXPECT_EQ(right, std::vector<int>(1000, 2));
  });
}

TEST(Group, AMessageMismatchIsToldToBothEndsAndTheOthersArrive) {
  World::threads(2).run([](Communicator& comm) {
    const int other = 1 - comm.rank();
    const std::vector<int> out(10, comm.rank());
    std::vector<int> in(10), odd(comm.rank() == 0 ? 10 : 9);
    std::optional<ErrorCode> code = outcome_of([&] {
                                      grouped([&] {
                                        comm.send(out, other);
                                        comm.send(out, other);
                                        comm.recv(odd, other);
                                        comm.recv(in, other);
                                      });
                                    }).code;
    // Only what rank 1 receives differs, and the sender is told, too.
    EXPECT_EQ(code, ErrorCode::mismatch);
    EXPECT_EQ(in, std::vector<int>(10, other));
    comm.barrier();
  });
}

TEST(Group, ArgumentsAreCheckedAtOnce) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<int> data(10);
    grouped([&] {
      EXPECT_EQ(outcome_of([&] { comm.broadcast(data, 5); }).code, ErrorCode::invalid_argument);
      EXPECT_EQ(outcome_of([&] { comm.send(data, 5); }).code, ErrorCode::invalid_argument);
      EXPECT_EQ(outcome_of([&] { (void)comm.split(0); }).code, ErrorCode::invalid_argument);
    });
  });
}

TEST(Group, MessagesThatCannotGoSideBySideAreRefused) {
  World::threads(1).run([](Communicator& comm) {
    std::vector<int> data(10, 1), other(10);
    const auto refused = [](auto body) {
      const auto outcome = outcome_of([&] { grouped(body); });
      EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << outcome.what;
      return outcome.what;
    };
    EXPECT_EQ(refused([&] { comm.send(data, 0); }),
              "group: a rank sends to itself without receiving it");
    EXPECT_EQ(refused([&] {
                comm.recv(other, 0);
                comm.barrier();
                comm.send(data, 0);
              }),
              "group: a rank receives from itself without sending it");
    grouped([&] {
      comm.recv(other, 0);
      comm.send(data, 0);
    });
    EXPECT_EQ(other, data);
  });
  World::threads(2).run([](Communicator& comm) {
    std::vector<int> data(10, 1);
    const auto outcome = outcome_of([&] {
      grouped([&] {
        comm.send(data, 1 - comm.rank());
        comm.recv(std::span(data).last(5), 1 - comm.rank());
      });
    });
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << outcome.what;
    comm.barrier();
  });
}

TEST(Group, ABodyThatReturnsInAnOpenGroupIsRefusedAndFreesTheOthers) {
  const Stopwatch watch;
  const auto outcome = outcome_of([] {
    World::threads(2).run([](Communicator& comm) {
      if (comm.rank() == 1) group_start();
      group_start();
      comm.barrier();
      if (comm.rank() == 0)
        expect_cause(outcome_of([] { group_end(); }), ErrorCode::aborted, "left a group open");
    });
  });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
  EXPECT_EQ(outcome.rank, 1);
  EXPECT_TRUE(outcome.says("left a group open")) << outcome.what;
  EXPECT_LT(watch.elapsed(), std::chrono::seconds(30));
}

TEST(Group, AThreadThatEndsInAnOpenGroupLeavesNobodyWaiting) {
  World::threads(1).run([](Communicator& comm) {
    std::vector<int> data(10, 1);
    Handle handle;
    std::jthread([&] {
      group_start();
      handle = comm.async().all_reduce(data);
    }).join();
    EXPECT_EQ(outcome_of([&] { handle.wait(); }).code, ErrorCode::aborted);
    comm.all_reduce(data);
  });
}

TEST(Group, AbortEndsAGroup) {
  const Stopwatch watch;
  World::threads(3).run([](Communicator& comm) {
    auto part = comm.split(0);
    std::vector<int> data(10, 1), other(10, 1);
    if (comm.rank() == 2) {
      std::this_thread::sleep_for(milliseconds(20));
      comm.abort("the user pressed a key");
      part->abort("the user pressed another key");
      return;
    }
    const auto outcome = outcome_of([&] {
      grouped([&] {
        comm.all_reduce(data);
        part->all_reduce(other);
        part->send(data, 2);
      });
    });
    expect_cause(outcome, ErrorCode::aborted, "the user pressed a key");
  });
  EXPECT_LT(watch.elapsed(), std::chrono::seconds(30));
}

TEST(Group, OnlyTheTwoEndsOfAMessageToOneselfMayShareMemory) {
  World::threads(1).run([](Communicator& comm) {
    std::vector<int> data(10), other(10), third(10);
    const auto outcome = outcome_of([&] {
      grouped([&] {
        comm.send(data, 0);
        comm.send(other, 0);
        comm.recv(third, 0);
        comm.recv(data, 0);  // of the second
      });
    });
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << outcome.what;
  });
}

TEST(Group, AMessageReceivedWhereOneOfAnotherCommunicatorLiesIsRefused) {
  World::threads(2).run([](Communicator& comm) {
    auto part = comm.split(0);
    const int other = 1 - comm.rank();
    std::vector<int> data(10), sent(10, 1);
    const auto outcome = outcome_of([&] {
      grouped([&] {
        comm.send(sent, other);
        part->send(sent, other);  // sends may share
        comm.recv(data, other);
        comm.barrier();
        part->recv(std::span(data).last(1), other);
      });
    });
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << outcome.what;
    EXPECT_TRUE(outcome.says("received where another")) << outcome.what;
    comm.barrier();
  });
}

}  // namespace
}  // namespace ringside::tests
