// SPDX-License-Identifier: MIT
/// Communicators in front of others: what passes through them, and what they count and slow down.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/trainer/counted.hpp"
#include "ringside/trainer/throttled.hpp"

namespace ringside::tests {
namespace {

using trainer::Traffic;

TEST(Counted, CountsWhatARanksPlanMoves) {
  World world = World::threads(3);
  world.run([](Communicator& inner) {
    Traffic traffic;
    Communicator comm = trainer::counted(inner, traffic);
    std::vector<float> numbers(30, 1);
    comm.all_reduce(numbers, ReduceOp::sum, {.algorithm = "ring"});
    EXPECT_EQ(numbers, std::vector<float>(30, 3));
    EXPECT_EQ(traffic, (Traffic{160, 160})) << "2 (n - 1) / n of 120 bytes";
    comm.async().all_reduce(numbers, ReduceOp::sum, {.algorithm = "ring"}).wait();
    EXPECT_EQ(traffic, (Traffic{320, 320})) << "the same call again, on another thread";
  });
}

TEST(Counted, KnowsBlocksOfDifferentLengths) {
  World world = World::threads(3);
  world.run([](Communicator& inner) {
    Traffic traffic;
    Communicator comm = trainer::counted(inner, traffic);
    const std::vector<std::size_t> lengths = {1, 0, 5};
    const auto own = static_cast<std::size_t>(comm.rank());
    std::vector<double> input(lengths[own], comm.rank()), all(6);
    comm.all_gather(input.data(), all.data(), lengths, ElementType::float64);
    EXPECT_EQ(all, (std::vector<double>{0, 2, 2, 2, 2, 2}));
    EXPECT_EQ(traffic.received, (6 - lengths[own]) * 8);
  });
}

TEST(Counted, CountsWhatARootHasToItself) {
  World world = World::threads(4);
  std::atomic<std::uint64_t> sent = 0, received = 0;
  world.run([&](Communicator& inner) {
    Traffic traffic;
    Communicator comm = trainer::counted(inner, traffic);
    std::vector<float> numbers(8);
    comm.broadcast(numbers, 2);
    comm.barrier();
    if (comm.rank() == 2) {
      EXPECT_EQ(traffic.received, 0U);
    }
    sent += traffic.sent;
    received += traffic.received;
  });
  EXPECT_EQ(sent, 3U * 32);
  EXPECT_EQ(received, 3U * 32);
}

TEST(Counted, CountsMessages) {
  World world = World::threads(2);
  world.run([](Communicator& inner) {
    Traffic traffic;
    Communicator comm = trainer::counted(inner, traffic);
    std::vector<int> numbers(3, comm.rank());
    if (comm.rank() == 0)
      comm.send(numbers, 1);
    else
      comm.recv(numbers, 0);
    EXPECT_EQ(numbers, std::vector<int>(3, 0));
    EXPECT_EQ(traffic, comm.rank() == 0 ? (Traffic{12, 0}) : (Traffic{0, 12}));
  });
}

TEST(Forwarding, LetsMessagesGoOnSideBySide) {
  World world = World::threads(2);
  world.run([](Communicator& inner) {
    Traffic traffic;
    Communicator comm = trainer::counted(inner, traffic);
    const int peer = 1 - comm.rank();
    std::vector<int> first(2), second(2);
    Handle comes = comm.async().recv(first, peer);  // before either has sent
    Handle comes_later = comm.async().recv(second, peer);
    const std::vector<int> early = {comm.rank(), 1};
    Handle goes = comm.async().send(early, peer);
    comm.send(std::vector{comm.rank(), 2}, peer);
    comes.wait();
    comes_later.wait();
    goes.wait();
    EXPECT_EQ(first, (std::vector{peer, 1}));
    EXPECT_EQ(second, (std::vector{peer, 2}));
  });
}

TEST(Forwarding, TellsTheErrorOfAMessage) {
  World world = World::threads(2);
  world.run([](Communicator& inner) {
    Traffic traffic;
    Communicator comm = trainer::counted(inner, traffic);
    std::vector<int> numbers(comm.rank() == 0 ? 2 : 3);
    const auto transfer = [&] {
      if (comm.rank() == 0)
        comm.send(numbers, 1);
      else
        comm.recv(numbers, 0);
    };
    EXPECT_THROW(transfer(), Error);
  });
}

TEST(Throttled, LetsAMessageTakeItsTime) {
  World world = World::threads(2);
  world.run([](Communicator& inner) {
    Communicator comm = trainer::throttled(inner, 1e5);
    std::vector<std::uint8_t> bytes(1000);
    const Stopwatch watch;
    if (comm.rank() == 0) {
      comm.send(bytes, 1);
    } else {
      comm.recv(bytes, 0);
      EXPECT_GE(watch.elapsed().count(), 0.01) << "1000 bytes at 100 kB/s, by its own sleep";
    }
  });
}

}  // namespace
}  // namespace ringside::tests
