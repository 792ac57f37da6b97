// SPDX-License-Identifier: MIT
/// How calls are counted and remembered: beyond 2^32 of them, of many shapes in turn, when one
/// could not begin, and when one begins late.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/executors/host/communicator.hpp"
#include "ringside/collectives/executors/host/shared.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/host/uniform_call.hpp"
#include "ringside/tests/support/elements.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

/// Every rank adds up rank + 1 of all, `count` times over changing data.
void expect_right_calls(Communicator& comm, const std::string& algorithm, int count) {
  const int n = comm.size();
  for (int i = 0; i < count; ++i) {
    std::vector<float> data(20000, static_cast<float>(comm.rank() + 1 + i));
    comm.all_reduce(std::span(data), ReduceOp::sum, {.algorithm = algorithm});
    const auto wanted = static_cast<float>(n * (n + 1)) / 2 + static_cast<float>(n * i);
    for (const float value : data) ASSERT_EQ(value, wanted) << "call " << i;
  }
}

/// Runs the body on the ranks of a communicator that has made so many calls.
template <class Body>
void run_after(std::uint64_t calls_before, int ranks, Body body) {
  PlanCache plans;
  const auto shared = std::make_shared<host::Shared>(ranks, plans);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Communicator comm(std::make_unique<host::HostCommunicator>(shared, rank, calls_before));
      body(comm);
    });
}

TEST(Calls, ProgressIsComparedAcrossItsWrap) {
  constexpr std::uint64_t calls = std::uint64_t{1} << 32;
  static_assert(host::reached(host::progress(calls - 1, 7), host::progress(calls - 1, 7)));
  static_assert(host::reached(host::progress(calls, 0), host::progress(calls - 1, 7)));
  static_assert(!host::reached(host::progress(calls - 1, 7), host::progress(calls, 1)));
  static_assert(!host::reached(host::progress(calls - host::calls_between_moves, 0),
                               host::progress(calls + 1, 1)));
}

TEST(Calls, TheCallsAfterTheFirstFourBillionAreRightToo) {
  run_after((std::uint64_t{1} << 32) - 6, 3, [](Communicator& comm) {
    expect_right_calls(comm, "ring", 3);
    expect_right_calls(comm, "ring:slices=3,lanes=4", 6);
    expect_right_calls(comm, "ring", 3);
  });
}

TEST(Calls, StreamsThatRestForALongTimeAreMovedUp) {
  run_after(host::calls_between_moves - 3, 2, [](Communicator& comm) {
    expect_right_calls(comm, "ring:slices=3,lanes=4", 2);
    expect_right_calls(comm, "ring", 4);
    expect_right_calls(comm, "ring:slices=3,lanes=4", 2);
  });
}

TEST(Calls, WhatTravelsInACallIsSettledForAllRanksOfAJob) {
  World::threads(2).run([](Communicator& comm) {
    for (int i = 0; i < 50; ++i) {
      auto part = comm.split(0);
      if (comm.rank() == 0) set_option("inline", i % 2 == 0 ? "0" : "1K");
      std::vector<std::int64_t> data(4, comm.rank() + 1);
      part->all_reduce(data);
      ASSERT_EQ(data, std::vector<std::int64_t>(4, 3)) << "split " << i;
    }
  });
  reset_option("inline");
}

TEST(Calls, AChangingScalarIsRightInEveryCall) {
  World::threads(2).run([](Communicator& comm) {
    for (int i = 0; i < 3000; ++i) {
      std::vector<double> data(4, comm.rank() + 1);
      comm.all_reduce(data, ReduceOp::premul_sum, {.scalar = static_cast<double>(i)});
      ASSERT_EQ(data, std::vector<double>(4, 3.0 * i));
    }
  });
}

TEST(Calls, ACallThatFindsNoScratchIsNoCall) {
  World::threads(4).run([](Communicator& comm) {
    expect_right_calls(comm, "ring", 1);
    if (comm.rank() == 1) {
      std::byte nothing{};  // never touched: the scratch for it is more than a vector can hold
      constexpr std::size_t elements = std::size_t{1} << 60;
      const auto outcome = outcome_of([&] {
        comm.all_reduce(&nothing, &nothing, elements, ElementType::float32, ReduceOp::sum,
                        {.algorithm = "one_shot:transfer=push"});
      });
      EXPECT_EQ(outcome.code, ErrorCode::io) << outcome.what;
    }
    expect_right_calls(comm, "ring", 2);
  });
}

/// Makes the call and tells whether its result is right.
bool runs_right(Communicator& comm, const UniformCall& call) {
  UniformBuffers buffers(call, comm.rank(), comm.size());
  comm.submit(buffers.arguments(), {.algorithm = call.algorithm});
  return buffers.right();
}

TEST(Calls, OfManyShapesInTurnAreKeptApart) {
  constexpr Collective collectives[] = {
      Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
      Collective::broadcast,  Collective::reduce,         Collective::gather,
      Collective::scatter,    Collective::all_to_all,     Collective::barrier};
  // More shapes than places for recent ones; many differ only in the root, the length or the spec.
  World::threads(3).run([&](Communicator& comm) {
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const std::uint64_t random = mix(i);
      UniformCall call{collectives[random % 9], random >> 8 & 31, 0, {}, i};
      if (has_root(call.collective)) call.root = static_cast<int>((random >> 16) % 3);
      if (call.collective == Collective::all_reduce)
        call.algorithm = std::array{"ring", "", "naive", "ring:slices=3"}[random >> 24 & 3];
      ASSERT_TRUE(runs_right(comm, call)) << "call " << i;
    }
  });
}

TEST(Calls, WithProgramsOfMoreThanIsKeptAreRight) {
  // Each program is some hundreds of kilobytes; 64 MiB are kept.
  World::threads(2).run([](Communicator& comm) {
    for (const std::uint64_t pass : {0u, 1u})
      for (std::size_t length = 1; length <= 150; ++length) {
        ASSERT_TRUE(runs_right(
            comm, {Collective::all_reduce, 4096 + length, 0, "ring:slices=4096,depth=2", pass}));
        ASSERT_TRUE(runs_right(comm, {Collective::all_gather, 3, 0, {}, length}));
      }
  });
}

TEST(Calls, WithOtherBlockLengthsEachTimeAreRight) {
  // Lists that begin alike and have the same total.
  World::threads(3).run([](Communicator& comm) {
    for (std::size_t i = 0; i < 800; ++i) {
      const std::size_t middle = i * 7919 % 1500;
      const std::vector<std::size_t> blocks = {5, middle, 1500 - middle};
      std::vector<std::int32_t> in(blocks[static_cast<std::size_t>(comm.rank())],
                                   100 * comm.rank() + static_cast<int>(i));
      std::vector<std::int32_t> out(1505);
      comm.all_gather(in.data(), out.data(), blocks, ElementType::int32);
      std::size_t at = 0;
      for (int from = 0; from < 3; ++from)
        for (std::size_t j = 0; j < blocks[static_cast<std::size_t>(from)]; ++j)
          ASSERT_EQ(out[at++], 100 * from + static_cast<int>(i)) << "call " << i;
    }
  });
}

TEST(Calls, AgreeAfterOthersThatDidNot) {
  // What a rank published stays in its entries; a later call may find its own signature there.
  World::threads(3).run([](Communicator& comm) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const std::uint64_t random = mix(i);
      const std::size_t length = random % 3 == 0 ? 2 : 200;
      std::vector<double> data(length, comm.rank() + 1.0);
      const bool differ = (random >> 8) % 4 == 0;
      const bool scaled = (random >> 16) % 2 == 0;
      double scalar = scaled ? 0.5 * static_cast<double>(random >> 24 & 1) + 0.5 : 1.0;
      const bool odd = differ && comm.rank() == static_cast<int>((random >> 32) % 3);
      if (odd && scaled) scalar += 1.0;
      const auto op = scaled ? ReduceOp::premul_sum : odd ? ReduceOp::min : ReduceOp::sum;
      const auto call = [&] { comm.all_reduce(std::span(data), op, {.scalar = scalar}); };
      if (differ) {
        ASSERT_EQ(outcome_of(call).code, ErrorCode::mismatch) << "call " << i;
        ASSERT_EQ(data, std::vector<double>(length, comm.rank() + 1.0)) << "call " << i;
      } else {
        call();
        ASSERT_EQ(data, std::vector<double>(length, 6.0 * scalar)) << "call " << i;
      }
    }
  });
}

OpStream two_shot_ops(Group g) {
  std::vector<Location> values, outputs;
  for (int chunk = 0; chunk < g.ranks(); ++chunk) {
    values.clear();
    outputs.clear();
    for (int rank = 0; rank < g.ranks(); ++rank) {
      values.push_back(g.cur(rank, chunk));
      outputs.push_back(g.output(rank, chunk));
    }
    co_yield g.op(chunk, values, outputs);
  }
}

TEST(Calls, WhoComesAfterOthersGaveUpTouchesNothing) {
  // Rank 1 makes its plan, the same under another name, until rank 0 has given up.
  static std::atomic<bool> gave_up{false};
  register_algorithm({.name = "late_two_shot",
                      .summary = "two_shot, made late",
                      .make = [](const Request& request, const Parameters&) {
                        while (!gave_up) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                        return Algorithm{
                            .chunks = request.ranks, .lanes = 1, .write = two_shot_ops};
                      }});
  constexpr float untouched = -7;
  std::vector<float> kept(1000);  // outlives the run
  World::threads(2).run([&](Communicator& comm) {
    std::vector<float> own(kept.size());
    auto& data = comm.rank() == 0 ? kept : own;
    comm.all_reduce(std::span(data), ReduceOp::sum, {.algorithm = "two_shot"});
    try {
      comm.all_reduce(std::span(data), ReduceOp::sum,
                      {.algorithm = comm.rank() == 0 ? "two_shot" : "late_two_shot",
                       .timeout = std::chrono::milliseconds(comm.rank() == 0 ? 50 : 10000)});
      ADD_FAILURE() << "rank " << comm.rank() << " has not failed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
    }
    if (comm.rank() != 0) return;
    std::fill(kept.begin(), kept.end(), untouched);
    gave_up = true;
  });
  EXPECT_EQ(kept, std::vector<float>(kept.size(), untouched));
}

}  // namespace
}  // namespace ringside::tests
