// SPDX-License-Identifier: MIT
/// Messages between two ranks: matched by pair and in order, checked at both ends, and ended by
/// whatever ends a collective.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <latch>
#include <numeric>
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

std::vector<int> numbered(std::size_t elements, int first) {
  std::vector<int> data(elements);
  std::iota(data.begin(), data.end(), first);
  return data;
}

TEST(SendRecv, TheReceiverGetsWhatWasSentWhateverItsLength) {
  World::threads(2).run([](Communicator& comm) {
    for (const std::size_t elements : {0u, 1u, 3u, 1000u, 300000u}) {
      if (comm.rank() == 0) {
        auto data = numbered(elements, 5);
        comm.send(data, 1);
        data.assign(elements, -1);  // taken already
      } else {
        std::vector<int> data(elements);
        comm.recv(data, 0);
        EXPECT_EQ(data, numbered(elements, 5));
      }
    }
  });
}

TEST(SendRecv, MessagesOfAPairKeepTheirOrderAndThoseOfOthersWait) {
  World::threads(3).run([](Communicator& comm) {
    constexpr int count = 200;
    if (comm.rank() < 2) {
      for (int i = 0; i < count; ++i) comm.send(std::array{1000 * comm.rank() + i}, 2);
      return;
    }
    for (const int from : {1, 0})
      for (int i = 0; i < count; ++i) {
        std::array<int, 1> got{};
        comm.recv(got, from);
        ASSERT_EQ(got[0], 1000 * from + i);
      }
  });
}

TEST(SendRecv, EveryTypeAndAnyAlignment) {
  World::threads(2).run([](Communicator& comm) {
    for (const ElementType type : all_element_types) {
      std::vector<std::byte> data(1000 * size_of(type) + 1, std::byte{7});
      if (comm.rank() == 0)
        comm.send(data.data() + 1, 1000, type, 1);
      else {
        data.assign(data.size(), std::byte{0});
        comm.recv(data.data() + 1, 1000, type, 0);
        EXPECT_EQ(data[0], std::byte{0});
        EXPECT_EQ(std::count(data.begin(), data.end(), std::byte{7}),
                  static_cast<std::ptrdiff_t>(data.size() - 1));
      }
    }
  });
}

TEST(SendRecv, ARingOfAsynchronousMessagesNeedsNoOrder) {
  World::threads(5).run([](Communicator& comm) {
    const int n = comm.size(), next = (comm.rank() + 1) % n, last = (comm.rank() + n - 1) % n;
    for (const bool send_first : {true, false}) {
      const std::vector<int> out = numbered(100, comm.rank());
      std::vector<int> in(100);
      std::vector<Handle> handles;
      if (send_first) handles.push_back(comm.async().send(out, next));
      handles.push_back(comm.async().recv(in, last));
      if (!send_first) handles.push_back(comm.async().send(out, next));
      for (auto& handle : handles) handle.wait();
      EXPECT_EQ(in, numbered(100, last));
    }
  });
}

TEST(SendRecv, ABlockingMessageGoesOnBesideAsynchronousOnes) {
  World::threads(2).run([](Communicator& comm) {
    for (int i = 0; i < 50; ++i) {
      const std::vector<int> out = numbered(10, comm.rank());
      std::vector<int> in(10);
      auto handle = comm.async().send(out, 1 - comm.rank());
      comm.recv(in, 1 - comm.rank());
      EXPECT_EQ(in, numbered(10, 1 - comm.rank()));
      handle.wait();
    }
  });
}

TEST(SendRecv, ABlockingMessageMayFollowOneThatWasWaitedFor) {
  // The thread of the asynchronous ones must have let go of all that messages use by then.
  World::threads(2).run([](Communicator& comm) {
    const int other = 1 - comm.rank();
    for (int i = 0; i < 200; ++i) {
      const std::vector<int> out = numbered(10, comm.rank() + i);
      std::vector<int> in(10);
      auto sent = comm.async().send(out, other);
      comm.async().recv(in, other).wait();
      sent.wait();
      EXPECT_EQ(in, numbered(10, other + i));
      if (comm.rank() == 0)
        comm.send(out, other);
      else
        comm.recv(in, other);
    }
  });
}

TEST(SendRecv, AsynchronousMessagesThatShareMemoryKeepTheirOrder) {
  // Each rank but the ends passes on what it got, without waiting in between.
  World::threads(4).run([](Communicator& comm) {
    const int me = comm.rank(), n = comm.size();
    std::vector<int> data = me == 0 ? numbered(5000, 1) : std::vector<int>(5000);
    std::vector<Handle> handles;
    if (me > 0) handles.push_back(comm.async().recv(data, me - 1));
    if (me < n - 1) handles.push_back(comm.async().send(data, me + 1));
    for (auto& handle : handles) handle.wait();
    EXPECT_EQ(data, numbered(5000, 1));
  });
}

TEST(SendRecv, AMessageThatSharesMemoryWaitsOnlyForThoseItSharesItWith) {
  // Rank 0 gets from rank 2 only what rank 2 makes of what rank 0 passes on from rank 1.
  const Stopwatch watch;
  World::threads(3).run([](Communicator& comm) {
    std::vector<int> passed(10), answer(10);
    if (comm.rank() == 0) {
      auto first = comm.async().recv(passed, 1);
      auto second = comm.async().recv(answer, 2);
      auto third = comm.async().send(passed, 2);
      for (auto* handle : {&first, &second, &third}) handle->wait();
      EXPECT_EQ(passed, numbered(10, 11));
      EXPECT_EQ(answer, numbered(10, 12));
    } else if (comm.rank() == 1) {
      comm.send(numbered(10, 11), 0);
    } else {
      comm.recv(passed, 0);
      for (int& one : passed) ++one;
      comm.send(passed, 0);
    }
  });
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(SendRecv, AMessageThatSharesMemoryHoldsUpNoneOfOtherPeers) {
  // Rank 1 sends what rank 0 passes on only after it has got rank 0's last message.
  const Stopwatch watch;
  World::threads(3).run([](Communicator& comm) {
    std::vector<int> passed(10), other = numbered(10, 5);
    if (comm.rank() == 0) {
      auto first = comm.async().recv(passed, 1);
      auto second = comm.async().send(passed, 2);
      auto third = comm.async().send(other, 1);
      for (auto* handle : {&first, &second, &third}) handle->wait();
    } else if (comm.rank() == 1) {
      comm.recv(passed, 0);
      EXPECT_EQ(passed, numbered(10, 5));
      comm.send(numbered(10, 1), 0);
    } else {
      comm.recv(passed, 0);
      EXPECT_EQ(passed, numbered(10, 1));
    }
  });
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(SendRecv, MessagesBehindOneThatWaitsKeepTheOrderOfTheirPair) {
  World::threads(2).run([](Communicator& comm) {
    constexpr std::size_t count = 300;
    std::vector<int> data(count);
    if (comm.rank() == 0) {
      std::vector<Handle> handles;
      for (std::size_t i = 0; i < count; ++i) {  // every third is passed back from where it came to
        int* const one = &data[i];
        handles.push_back(comm.async().recv(one, 1, ElementType::int32, 1));
        if (i % 3 == 0) handles.push_back(comm.async().send(one, 1, ElementType::int32, 1));
        if (i % 3 == 1) handles.push_back(comm.async().send(&data[0], 1, ElementType::int32, 1));
      }
      for (auto& handle : handles) handle.wait();
      EXPECT_EQ(data, numbered(count, 7));
    } else {
      const std::vector<int> out = numbered(count, 7);
      std::vector<int> back, expected;
      std::vector<Handle> handles;
      back.resize(count);
      auto at = back.begin();
      for (std::size_t i = 0; i < count; ++i) {
        handles.push_back(comm.async().send(&out[i], 1, ElementType::int32, 0));
        if (i % 3 == 2) continue;
        handles.push_back(comm.async().recv(&*at++, 1, ElementType::int32, 0));
        expected.push_back(i % 3 == 0 ? out[i] : out[0]);
      }
      for (auto& handle : handles) handle.wait();
      back.resize(expected.size());
      EXPECT_EQ(back, expected);
    }
  });
}

TEST(SendRecv, MessagesAndCollectivesKeepTheirOrder) {
  World::threads(2).run([](Communicator& comm) {
    const int me = comm.rank();
    std::vector<int> data(1000, me + 1), got(1000);
    std::vector<Handle> handles;
    handles.push_back(comm.async().all_reduce(data));  // 3
    handles.push_back(me == 0 ? comm.async().send(data, 1) : comm.async().recv(got, 0));
    handles.push_back(comm.async().all_reduce(data));  // 6
    handles.push_back(me == 1 ? comm.async().send(data, 0) : comm.async().recv(got, 1));
    for (auto& handle : handles) handle.wait();
    EXPECT_EQ(data, std::vector<int>(1000, 6));
    EXPECT_EQ(got, std::vector<int>(1000, me == 0 ? 6 : 3));
  });
}

TEST(SendRecv, DifferentLengthsAndTypesAreToldToBothAndTheCommunicatorWorksOn) {
  World::threads(2).run([](Communicator& comm) {
    const int me = comm.rank();
    std::vector<float> data(100, static_cast<float>(me));
    const auto exchange = [&](std::size_t elements, ElementType type) {
      return outcome_of([&] {
        me == 0 ? comm.send(data.data(), elements, type, 1)
                : comm.recv(data.data(), elements, type, 0);
      });
    };
    for (const auto& outcome :
         {exchange(me == 0 ? 100 : 99, ElementType::float32),
          exchange(100, me == 0 ? ElementType::float32 : ElementType::int32)}) {
      EXPECT_EQ(outcome.code, ErrorCode::mismatch) << outcome.what;
      EXPECT_TRUE(outcome.says("rank 0 sent 100 float32 to rank 1, which expected "))
          << outcome.what;
      EXPECT_EQ(outcome.rank, me);
      EXPECT_EQ(outcome.peer, 1 - me);
    }
    EXPECT_EQ(data, std::vector<float>(100, static_cast<float>(me)));
    EXPECT_FALSE(exchange(100, ElementType::float32).code);
    EXPECT_EQ(data, std::vector<float>(100, 0));
    comm.barrier();
  });
}

TEST(SendRecv, AMessageToOneselfOutsideOfAGroupIsRefused) {
  World::threads(1).run([](Communicator& comm) {
    std::vector<int> data(10);
    const auto refused = [](auto call) {
      const auto outcome = outcome_of(call);
      EXPECT_TRUE(outcome.says("a message to oneself")) << outcome.what;
      return outcome.code == ErrorCode::invalid_argument;
    };
    EXPECT_TRUE(refused([&] { comm.send(data, 0); }));
    EXPECT_TRUE(refused([&] { comm.recv(data, 0); }));
    EXPECT_TRUE(refused([&] { (void)comm.async().send(data, 0); }));
  });
}

TEST(SendRecv, PeersAndBuffersThatMakeNoSenseAreRefused) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<int> data(10);
    const auto code = [](auto call) { return outcome_of(call).code; };
    EXPECT_EQ(code([&] { comm.send(data, 2); }), ErrorCode::invalid_argument);
    EXPECT_EQ(code([&] { comm.recv(data, -1); }), ErrorCode::invalid_argument);
    const int other = 1 - comm.rank();
    EXPECT_EQ(code([&] { comm.send(nullptr, 1, ElementType::int8, other); }),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code([&] { comm.recv(data.data(), ~std::size_t{0} / 2, ElementType::int32, other); }),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code([&] { comm.send(data.data(), 1, static_cast<ElementType>(99), other); }),
              ErrorCode::invalid_argument);
    comm.barrier();
  });
}

// --- somebody is missing ---------------------------------------------------------------------

TEST(SendRecv, AMissingReceiverIsNamedAndTheBufferIsFree) {
  const Stopwatch watch;
  std::latch told(1);
  World::threads(2).run([&](Communicator& comm) {
    if (comm.rank() == 1) {
      told.wait();
      std::vector<int> late(100, 7);
      const auto outcome = outcome_of([&] { comm.recv(late, 0); });
      EXPECT_EQ(outcome.code, ErrorCode::failed);
      EXPECT_TRUE(outcome.says("rank 1 has not received")) << outcome.what;
      EXPECT_EQ(late, std::vector<int>(100, 7));
      return;
    }
    {
      const std::vector<int> data(100, 1);
      const auto outcome = outcome_of([&] {
        comm.send(data.data(), 100, ElementType::int32, 1, {.timeout = milliseconds(100)});
      });
      EXPECT_EQ(outcome.code, ErrorCode::timeout);
      EXPECT_TRUE(outcome.says("rank 1 has not received the 100 int32 that rank 0 sent after"))
          << outcome.what;
      EXPECT_EQ(outcome.peer, 1);
    }
    told.count_down();
  });
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(SendRecv, AMissingSenderIsNamed) {
  std::latch told(1);
  World::threads(2).run([&](Communicator& comm) {
    if (comm.rank() == 0) return told.wait();
    std::vector<int> data(100);
    const auto outcome = outcome_of([&] {
      comm.recv(data.data(), 100, ElementType::int32, 0, {.timeout = milliseconds(100)});
    });
    EXPECT_EQ(outcome.code, ErrorCode::timeout);
    EXPECT_TRUE(outcome.says("rank 0 has not sent the 100 int32 that rank 1 expects after"))
        << outcome.what;
    EXPECT_EQ(outcome.peer, 0);
    told.count_down();
  });
}

TEST(SendRecv, APeerThatReturnedIsNotWaitedForButWhatItSentArrives) {
  const Stopwatch watch;
  World::threads(3).run([](Communicator& comm) {
    std::vector<int> data(100, comm.rank());
    if (comm.rank() == 0) return;
    if (comm.rank() == 2) return comm.send(data, 1);
    comm.recv(data, 2);
    EXPECT_EQ(data, std::vector<int>(100, 2));
    const auto outcome = outcome_of([&] { comm.recv(data, 0); });
    EXPECT_EQ(outcome.code, ErrorCode::timeout);
    EXPECT_TRUE(outcome.says("rank 0 has returned without it")) << outcome.what;
  });
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(SendRecv, APeerThatThrowsFreesBothEnds) {
  const Stopwatch watch;
  EXPECT_THROW(World::threads(3).run([](Communicator& comm) {
    std::vector<int> data(100);
    if (comm.rank() == 0) throw std::runtime_error("out of luck");
    const auto outcome =
        outcome_of([&] { comm.rank() == 1 ? comm.send(data, 0) : comm.recv(data, 0); });
    expect_cause(outcome, ErrorCode::aborted, "rank 0 ended with: out of luck");
  }),
               std::runtime_error);
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(SendRecv, AbortFromAnotherThreadFreesBothEnds) {
  const Stopwatch watch;
  World::threads(3).run([](Communicator& comm) {
    std::vector<int> data(100);
    if (comm.rank() == 0) {
      std::this_thread::sleep_for(milliseconds(30));
      comm.abort("the user pressed a key");
      return;
    }
    const auto outcome =
        outcome_of([&] { comm.rank() == 1 ? comm.send(data, 0) : comm.recv(data, 0); });
    expect_cause(outcome, ErrorCode::aborted, "the user pressed a key");
  });
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(SendRecv, ASenderThatGivesUpIsNotReadAnyMore) {
  // Senders give up at any moment of the transfer; what they write afterwards nobody may see.
  for (int attempt = 0; attempt < 30; ++attempt)
    World::threads(2).run([&](Communicator& comm) {
      constexpr std::size_t elements = 200000;
      if (comm.rank() == 0) {
        std::vector<int> data(elements, 1);
        std::jthread other([&] {
          std::this_thread::sleep_for(std::chrono::microseconds(20 * attempt));
          comm.abort("enough");
        });
        (void)outcome_of([&] { comm.send(data, 1); });
        data.assign(elements, 2);
        other.join();
      } else {
        std::vector<int> data(elements, 1);
        (void)outcome_of([&] { comm.recv(data, 0); });
        EXPECT_EQ(data, std::vector<int>(elements, 1));
      }
    });
}

}  // namespace
}  // namespace ringside::tests
