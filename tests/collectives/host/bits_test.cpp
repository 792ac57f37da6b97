// SPDX-License-Identifier: MIT
/// The same bits every time: under load, and for the uniform algorithms also as part of a larger
/// message.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "ringside/collectives/world.hpp"
#include "ringside/tests/support/elements.hpp"

namespace ringside::tests {
namespace {

/// Threads that keep the cores busy while it lives, so that ranks are preempted anywhere.
class Load {
 public:
  explicit Load(int threads) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this] {
        volatile unsigned work = 0;
        while (!stop_.load(std::memory_order_relaxed)) work = work + 1;
      });
  }
  ~Load() { stop_ = true; }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::jthread> threads_;  // joined before stop_ goes
};

std::vector<float> all_reduced(int ranks, const std::string& spec, std::size_t elements,
                               bool disturbed = false) {
  std::vector<float> result;
  World::threads(ranks).run([&](Communicator& comm) {
    std::vector<float> data(elements);
    fill(ElementType::float32, static_cast<std::uint64_t>(comm.rank()), elements,
         reinterpret_cast<std::byte*>(data.data()));
    if (disturbed && comm.rank() % 2 == 1) std::this_thread::yield();
    comm.all_reduce(std::span(data), ReduceOp::sum, {.algorithm = spec});
    if (comm.rank() == comm.size() - 1) result = data;
  });
  return result;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b, std::size_t elements) {
  return std::memcmp(a.data(), b.data(), elements * sizeof(float)) == 0;
}

TEST(Bits, AHundredRunsUnderLoadAreIdentical) {
  constexpr std::size_t elements = 10'007;
  for (const char* spec :
       {"naive", "chain:slices=4", "binomial", "double_tree:slices=3", "recursive_doubling",
        "halving_doubling", "ring:slices=8", "bidirectional_ring", "one_shot", "two_shot",
        "neighbour_push:slices=4", "hierarchical"}) {
    const auto expected = all_reduced(4, spec, elements);
    const Load load(2);
    for (int i = 0; i < 100; ++i)
      ASSERT_TRUE(same_bits(all_reduced(4, spec, elements, true), expected, elements))
          << spec << ", run " << i;
  }
}

TEST(Bits, UniformAlgorithmsDoNotDependOnTheMessageSize) {
  constexpr std::size_t large = 50'021;
  for (const char* spec : {"naive", "chain", "binomial", "recursive_doubling", "halving_doubling",
                           "one_shot", "two_shot", "two_shot:transfer=push"}) {
    const auto whole = all_reduced(5, spec, large);
    for (const std::size_t prefix : {1u, 5u, 1000u, 33'333u})
      EXPECT_TRUE(same_bits(all_reduced(5, spec, prefix), whole, prefix))
          << spec << ", first " << prefix;
  }
}

TEST(Bits, SlicesLanesAndDepthNeverChangeABit) {
  constexpr std::size_t elements = 20'011;
  for (const std::string spec : {"chain", "ring", "neighbour_push", "halving_doubling"}) {
    const auto expected = all_reduced(6, spec, elements);
    for (const char* cut : {":slices=2", ":slices=64,lanes=4", ":slices=9,lanes=1,depth=1"})
      EXPECT_TRUE(same_bits(all_reduced(6, spec + cut, elements), expected, elements))
          << spec << cut;
  }
}

TEST(Bits, ARingDoesDependOnTheMessageSize) {
  // So the tests above can fail.
  constexpr std::size_t large = 50'021;
  EXPECT_FALSE(same_bits(all_reduced(5, "ring", 33'333), all_reduced(5, "ring", large), 33'333));
}

}  // namespace
}  // namespace ringside::tests
