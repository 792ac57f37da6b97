// SPDX-License-Identifier: MIT
/// Asynchronous calls: their order and results, who waits for what, how errors come out, and that
/// nothing is left behind.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/group.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/support/outcome.hpp"
#include "ringside/tests/support/process.hpp"

namespace ringside::tests {
namespace {

using std::chrono::milliseconds;
constexpr auto generous = std::chrono::seconds(30);

std::vector<float> input_of(int rank, std::size_t elements, int call) {
  std::vector<float> data(elements);
  for (std::size_t i = 0; i < elements; ++i)
    data[i] = 0.1F * static_cast<float>((static_cast<std::size_t>(rank) * 31 + i) % 97) +
              1e-3F * static_cast<float>(call);
  return data;
}

/// Many calls of different algorithms and lengths, blocking.
std::vector<std::vector<float>> blocking_results(Communicator& comm, int calls) {
  static const std::array algorithms = {"ring:slices=3", "two_shot", "binomial", "naive"};
  std::vector<std::vector<float>> results;
  for (int i = 0; i < calls; ++i) {
    results.push_back(input_of(comm.rank(), static_cast<std::size_t>(i * 37 % 500), i));
    comm.all_reduce(results.back(), ReduceOp::sum,
                    {.algorithm = algorithms[static_cast<std::size_t>(i) % algorithms.size()]});
  }
  return results;
}

/// The same calls, all made before the first is waited for.
std::vector<std::vector<float>> async_results(Communicator& comm, int calls) {
  static const std::array algorithms = {"ring:slices=3", "two_shot", "binomial", "naive"};
  std::vector<std::vector<float>> results(static_cast<std::size_t>(calls));
  std::vector<Handle> handles;
  for (int i = 0; i < calls; ++i) {
    auto& data = results[static_cast<std::size_t>(i)];
    data = input_of(comm.rank(), static_cast<std::size_t>(i * 37 % 500), i);
    CallOptions options{.algorithm = algorithms[static_cast<std::size_t>(i) % algorithms.size()]};
    handles.push_back(comm.async().all_reduce(data, ReduceOp::sum, options));
    options.algorithm = "a spec that was given and may go";
  }
  for (auto& handle : handles) handle.wait();
  return results;
}

TEST(Async, HandlesTellHowLongTheirCallsRan) {
  std::latch rank_1_may_call(1);
  World::threads(2).run([&](Communicator& comm) {
    std::vector<float> data(10);
    if (comm.rank() == 1) rank_1_may_call.wait();
    Handle call = comm.async().all_reduce(data);
    if (comm.rank() == 0) {
      EXPECT_EQ(call.running_time(), Seconds{0}) << "it cannot be over";
      rank_1_may_call.count_down();
    }
    call.wait();
    EXPECT_GT(call.running_time(), Seconds{0});
    EXPECT_LT(call.running_time(), Seconds(generous));
  });
  EXPECT_EQ(Handle().running_time(), Seconds{0});
}

TEST(Async, AHundredOutstandingCallsGiveTheBitsOfBlockingOnes) {
  World::threads(4).run([](Communicator& comm) {
    const auto expected = blocking_results(comm, 100);
    EXPECT_EQ(async_results(comm, 100), expected);
  });
}

TEST(Async, AHundredOutstandingCallsOnEightCommunicatorsFromSeveralThreads) {
  World::threads(3).run([](Communicator& comm) {
    const auto expected = blocking_results(comm, 100);
    std::vector<Communicator> parts;
    for (int i = 0; i < 8; ++i) parts.push_back(*comm.split(0, comm.rank()));
    std::array<std::vector<std::vector<float>>, 8> results;
    {
      std::vector<std::jthread> threads;
      for (std::size_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
          results[t] = async_results(parts[t], 100);
          results[7 - t] = async_results(parts[7 - t], 100);
        });
    }
    for (const auto& result : results) EXPECT_EQ(result, expected);
  });
}

TEST(Async, EveryCollectiveHasAnAsynchronousForm) {
  World::threads(3).run([](Communicator& comm) {
    const int n = comm.size(), me = comm.rank();
    std::vector<int> one = {me + 1}, all(3), block(1), each = {10 * me, 10 * me + 1, 10 * me + 2};
    std::vector<int> sum(1), swapped(3), rooted = {me == 1 ? 7 : 0}, part(1), gathered(3);
    std::vector<int> reduced = {me + 1};
    std::vector<Handle> handles;
    auto async = comm.async();
    handles.push_back(async.all_reduce(one, std::span(sum)));
    handles.push_back(async.all_gather(one, all));
    handles.push_back(async.reduce_scatter(each, block));
    handles.push_back(async.all_to_all(each, swapped));
    handles.push_back(async.broadcast(rooted, 1));
    handles.push_back(async.scatter(each, part, 2));
    handles.push_back(async.gather(one, gathered, 0));
    handles.push_back(async.reduce(reduced, ReduceOp::max, 0));
    handles.push_back(async.barrier());
    for (auto& handle : handles) handle.wait();
    EXPECT_EQ(sum[0], n * (n + 1) / 2);
    EXPECT_EQ(all, (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(block[0], 30 + 3 * me);
    EXPECT_EQ(swapped, (std::vector<int>{me, 10 + me, 20 + me}));
    EXPECT_EQ(rooted[0], 7);
    EXPECT_EQ(part[0], 20 + me);
    if (me == 0) {
      EXPECT_EQ(gathered, (std::vector<int>{1, 2, 3}));
    }
    EXPECT_EQ(reduced[0], me == 0 ? 3 : me + 1);
  });
}

TEST(Async, BlockListsAreCopiedAtOnce) {
  World::threads(3).run([](Communicator& comm) {
    const std::vector<float> mine(static_cast<std::size_t>(comm.rank()) + 1,
                                  static_cast<float>(comm.rank()));
    std::vector<float> all(6);
    std::vector<std::size_t> blocks = {1, 2, 3};
    auto handle = comm.async().all_gather(mine.data(), all.data(), blocks, ElementType::float32);
    blocks.assign(3, 1000000);
    handle.wait();
    EXPECT_EQ(all, (std::vector<float>{0, 1, 1, 2, 2, 2}));
  });
}

TEST(Async, BuffersAreTheCallersOwnAfterWait) {
  World::threads(4).run([](Communicator& comm) {
    std::vector<float> data(1000);
    for (int i = 0; i < 50; ++i) {
      data.assign(data.size(), static_cast<float>(comm.rank() + i));
      auto handle = comm.async().all_reduce(data, ReduceOp::sum, {.algorithm = "ring"});
      handle.wait();
      for (const float value : data) ASSERT_EQ(value, static_cast<float>(6 + 4 * i));
    }
  });
}

TEST(Async, ABlockingCallRunsAfterThoseOutstanding) {
  World::threads(3).run([](Communicator& comm) {
    std::vector<int> data(5000, 1);
    auto first = comm.async().all_reduce(data);
    auto second = comm.async().all_reduce(data);
    comm.all_reduce(data);
    EXPECT_TRUE(first.done());
    EXPECT_TRUE(second.done());
    EXPECT_EQ(data, std::vector<int>(5000, 27));
  });
}

TEST(Async, DestroyingACommunicatorWaitsForItsCalls) {
  World::threads(3).run([](Communicator& comm) {
    std::vector<int> data(3000, 1);
    std::vector<Handle> handles;
    {
      auto part = comm.split(0);
      if (comm.rank() == 1) std::this_thread::sleep_for(milliseconds(20));
      for (int i = 0; i < 4; ++i) handles.push_back(part->async().all_reduce(data));
    }
    EXPECT_EQ(data, std::vector<int>(3000, 81));
    for (auto& handle : handles) {
      EXPECT_TRUE(handle.done());
      handle.wait();
    }
  });
}

TEST(Async, AHandleOutlivesItsCommunicatorAndTellsItsErrorEveryTime) {
  World::threads(2).run([](Communicator& comm) {
    Handle handle;
    std::vector<float> data(comm.rank() == 0 ? 10 : 11);
    {
      auto part = comm.split(0);
      handle = part->async().all_reduce(data);
    }
    for (int i = 0; i < 2; ++i) {
      const auto outcome = outcome_of([&] { handle.wait(); });
      EXPECT_EQ(outcome.code, ErrorCode::mismatch) << outcome.what;
      EXPECT_EQ(outcome.rank, comm.rank());
    }
  });
}

TEST(Async, SeveralThreadsMayWaitForOneCall) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<float> data(comm.rank() == 0 ? 10 : 11);
    std::array<Outcome, 3> outcomes;
    {
      Handle handle = comm.async().all_reduce(data);
      std::vector<std::jthread> threads;
      for (auto& outcome : outcomes)
        threads.emplace_back([&] { outcome = outcome_of([&] { handle.wait(); }); });
    }
    for (const auto& outcome : outcomes) EXPECT_EQ(outcome.code, ErrorCode::mismatch);
  });
}

TEST(Async, ADroppedHandleWaitsAndDropsTheError) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<int> data(100, 1);
    { const Handle dropped = comm.async().all_reduce(data); }
    EXPECT_EQ(data, std::vector<int>(100, 2));
    Handle handle = comm.async().all_reduce(data, comm.rank() == 0 ? ReduceOp::min : ReduceOp::max);
    handle = comm.async().all_reduce(data);  // waits for the call that is replaced
    handle.wait();
    EXPECT_EQ(data, std::vector<int>(100, 4));
  });
}

TEST(Async, AHandleThatHoldsNothingIsDone) {
  Handle handle;
  handle.wait();
  EXPECT_TRUE(handle.done());
  const Handle moved = std::move(handle);
  EXPECT_TRUE(moved.done());
}

TEST(Async, ArgumentsAreCheckedAtOnce) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<float> data(8);
    const auto refused = [](auto call) {
      return outcome_of(call).code == ErrorCode::invalid_argument;
    };
    EXPECT_TRUE(refused([&] { (void)comm.async().broadcast(data, 2); }));
    EXPECT_TRUE(refused([&] {
      (void)comm.async().all_reduce(nullptr, data.data(), 8, ElementType::float32, ReduceOp::sum);
    }));
    EXPECT_TRUE(refused([&] { (void)comm.async().send(data, 2); }));
    comm.barrier();
  });
}

TEST(Async, AMismatchComesOutOfItsOwnHandleAndTheOthersAreRight) {
  World::threads(3).run([](Communicator& comm) {
    std::vector<int> before(10, 1), wrong(comm.rank() == 2 ? 5 : 10, 1), after(10, 1);
    auto first = comm.async().all_reduce(before);
    auto odd = comm.async().all_reduce(wrong);
    auto last = comm.async().all_reduce(after);
    EXPECT_EQ(outcome_of([&] { odd.wait(); }).code, ErrorCode::mismatch);
    first.wait();
    last.wait();
    EXPECT_EQ(before, std::vector<int>(10, 3));
    EXPECT_EQ(after, before);
    EXPECT_EQ(wrong, std::vector<int>(wrong.size(), 1));
  });
}

TEST(Async, ABadSpecComesOutOfWait) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<int> data(10, 1);
    auto handle = comm.async().all_reduce(data, ReduceOp::sum, {.algorithm = "rong"});
    const auto outcome = outcome_of([&] { handle.wait(); });
    EXPECT_EQ(outcome.code, ErrorCode::bad_input);
    comm.barrier();
  });
}

TEST(Async, AMissingRankIsNamedAndLaterCallsTellTheFirstCause) {
  const Stopwatch watch;
  std::latch told(2);
  World::threads(3).run([&](Communicator& comm) {
    std::vector<int> data(100), later(100);
    if (comm.rank() == 1) return told.wait();
    auto first = comm.async().all_reduce(data, ReduceOp::sum, {.timeout = milliseconds(100)});
    auto second = comm.async().all_reduce(later);
    const std::string words = "rank 1 has not entered all_reduce (call 1)";
    expect_cause(outcome_of([&] { first.wait(); }), ErrorCode::timeout, words);
    const auto outstanding = outcome_of([&] { second.wait(); });
    EXPECT_EQ(outstanding.code, ErrorCode::failed);
    EXPECT_TRUE(outstanding.says(words)) << outstanding.what;
    for (const auto& outcome :
         {outcome_of([&] { comm.async().barrier().wait(); }), outcome_of([&] { comm.barrier(); }),
          outcome_of([&] { comm.async().send(data, 1).wait(); }),
          outcome_of([&] { comm.recv(data, 1); }), outcome_of([&] { (void)comm.split(0); })}) {
      EXPECT_EQ(outcome.code, ErrorCode::failed) << outcome.what;
      EXPECT_TRUE(outcome.says(words)) << outcome.what;
    }
    told.count_down();
  });
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(Async, AbortFromAnotherThreadEndsWhatIsOutstanding) {
  const Stopwatch watch;
  World::threads(3).run([](Communicator& comm) {
    comm.async().barrier().wait();  // everybody's thread is there
    std::vector<std::vector<float>> data(20, std::vector<float>(100));
    std::vector<Handle> handles;
    if (comm.rank() != 2)
      for (auto& one : data) handles.push_back(comm.async().all_reduce(one));
    std::jthread other([&] {
      if (comm.rank() != 2) return;
      std::this_thread::sleep_for(milliseconds(20));
      comm.abort("the user pressed a key");
    });
    for (auto& handle : handles)
      expect_cause(outcome_of([&] { handle.wait(); }), ErrorCode::aborted, "pressed a key");
    other.join();
    if (comm.rank() == 2) {
      EXPECT_EQ(outcome_of([&] { comm.barrier(); }).code, ErrorCode::failed);
    }
  });
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(Async, AbortWhileTheThreadIsIdleFailsTheNextCall) {
  World::threads(2).run([](Communicator& comm) {
    comm.async().barrier().wait();
    std::this_thread::sleep_for(milliseconds(5));
    std::jthread([&] { comm.abort("enough"); }).join();
    const auto outcome = outcome_of([&] { comm.async().barrier().wait(); });
    EXPECT_EQ(outcome.code, ErrorCode::failed);
    EXPECT_TRUE(outcome.says("enough")) << outcome.what;
  });
}

TEST(Async, ABodyThatThrowsWithCallsOutstandingFreesTheOthers) {
  const Stopwatch watch;
  EXPECT_THROW(World::threads(3).run([](Communicator& comm) {
    std::vector<int> data(1000, 1);
    if (comm.rank() == 0) throw std::runtime_error("out of luck");
    auto handle = comm.async().all_reduce(data);
    expect_cause(outcome_of([&] { handle.wait(); }), ErrorCode::aborted,
                 "rank 0 ended with: out of luck");
  }),
               std::runtime_error);
  EXPECT_LT(watch.elapsed(), generous);
}

TEST(Async, NoThreadIsLeftBehind) {
  const int before = thread_count();
  World::threads(4).run([](Communicator& comm) {
    std::vector<int> data(10, 1);
    auto part = comm.split(comm.rank() % 2);
    auto one = comm.async().all_reduce(data);
    auto other = part->async().barrier();
    one.wait();
    other.wait();
  });
  EXPECT_EQ(thread_count(), before);
}

TEST(Async, ACommunicatorWithoutAsynchronousCallsHasNoThread) {
  World::threads(1).run([](Communicator& comm) {
    const int before = thread_count();
    std::vector<int> data(10, 1);
    comm.all_reduce(data);
    grouped([&] { comm.all_reduce(data); });
    EXPECT_EQ(thread_count(), before);
    comm.async().all_reduce(data).wait();
    EXPECT_EQ(thread_count(), before + 1);
  });
}

}  // namespace
}  // namespace ringside::tests
