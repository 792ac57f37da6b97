// SPDX-License-Identifier: MIT
/// Maximum flows against the least of all cuts.
#include "ringside/topology/bounds/max_flow.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace ringside::tests {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

struct Arc {
  int from, to;
  std::int64_t capacity;
};

TEST(MaxFlow, GoesBackOverAnArcThatWasUsedTooEarly) {
  // The only shortest path blocks both longer ones unless its middle is given back.
  FlowNetwork network(6);
  for (const Arc& arc :
       {Arc{0, 1, 1}, {1, 4, 1}, {4, 5, 1}, {0, 2, 1}, {2, 4, 1}, {1, 3, 1}, {3, 5, 1}})
    network.add_arc(arc.from, arc.to, arc.capacity);
  EXPECT_EQ(network.flow(0, 5, no_limit), 2);
}

TEST(MaxFlow, StopsAtWhatIsEnoughAndStartsAnewForTheNextQuestion) {
  FlowNetwork network(3);
  network.add_arc(0, 1, 10);
  const int second = network.add_arc(1, 2, 7);
  EXPECT_EQ(network.flow(0, 2, 3), 3);
  EXPECT_EQ(network.flow(0, 2, no_limit), 7);
  EXPECT_EQ(network.source_side(), (std::vector{true, true, false}));
  network.set_capacity(second, 11);
  EXPECT_EQ(network.flow(0, 2, no_limit), 10);
  EXPECT_EQ(network.source_side(), (std::vector{true, false, false}));
}

TEST(MaxFlow, EqualsTheLeastCutOnRandomNetworks) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const int vertices = 2 + static_cast<int>(random() % 6);
    std::vector<Arc> arcs;
    for (int a = 0; a < vertices; ++a)
      for (int b = 0; b < vertices; ++b)
        if (a != b && random() % 2 == 0)
          arcs.push_back({a, b, static_cast<std::int64_t>(random() % 9)});
    const auto capacity_of = [&](const auto& inside) {
      std::int64_t sum = 0;
      for (const Arc& arc : arcs)
        if (inside(arc.from) && !inside(arc.to)) sum += arc.capacity;
      return sum;
    };
    std::int64_t least = no_limit;
    for (unsigned set = 0; set < 1U << static_cast<unsigned>(vertices); ++set) {
      const auto inside = [&](int v) { return (set >> static_cast<unsigned>(v) & 1U) != 0; };
      if (inside(0) && !inside(1)) least = std::min(least, capacity_of(inside));
    }
    FlowNetwork network(static_cast<std::size_t>(vertices));
    for (const Arc& arc : arcs) network.add_arc(arc.from, arc.to, arc.capacity);
    ASSERT_EQ(network.flow(0, 1, no_limit), least) << "round " << round;
    const auto side = network.source_side();
    ASSERT_TRUE(side[0]);
    ASSERT_FALSE(side[1]);
    ASSERT_EQ(capacity_of([&](int v) { return side[static_cast<std::size_t>(v)]; }), least);
  }
}

}  // namespace
}  // namespace ringside::tests
