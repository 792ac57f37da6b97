// SPDX-License-Identifier: MIT
/// The published optima of ForestColl, and those of machines that people have.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "brute_force.hpp"
#include "machines.hpp"
#include "ringside/base/error.hpp"
#include "ringside/topology/bounds/bounds.hpp"
#include "ringside/topology/bounds/whole_units.hpp"

namespace ringside::tests {
namespace {

struct Known {
  std::string name;
  CapacityGraph graph;
  std::int64_t numerator, denominator, trees;
  double all_gather, all_reduce_bus;
};

/// arXiv 2402.06787 and the authors' program for the A100 boxes and the DGX-1V.
std::vector<Known> known_optima() {
  return {
      {"A100 1x8", a100_boxes(1), 7, 300, 1, 2400.0 / 7, 300},
      {"A100 2x8", a100_boxes(2), 3, 65, 13, 1040.0 / 3, 325},
      {"A100 4x8", a100_boxes(4), 3, 25, 1, 800.0 / 3, 775.0 / 3},
      {"A100 8x8", a100_boxes(8), 7, 25, 1, 1600.0 / 7, 225},
      {"A100 16x8", a100_boxes(16), 3, 5, 1, 640.0 / 3, 635.0 / 3},
      {"A100 128x8", a100_boxes(128), 127, 25, 1, 25600.0 / 127, 25575.0 / 127},
      {"DGX-1V", dgx1v_mesh(), 7, 150, 6, 1200.0 / 7, 150},
      {"two sockets, link 10", two_sockets(4, 24, 10), 2, 5, 5, 20, 17.5},
      {"two switches on two sockets", two_switches_on_sockets(4, 26, 24, 9), 4, 9, 9, 18, 15.75},
  };
}

TEST(TreeOptimum, EqualsTheKnownValuesToTheLastDigit) {
  for (const auto& known : known_optima()) {
    const TreeOptimum optimum = tree_optimum(known.graph);
    EXPECT_EQ(optimum.unit, 1e9) << known.name;
    EXPECT_EQ(optimum.numerator, known.numerator) << known.name;
    EXPECT_EQ(optimum.denominator, known.denominator) << known.name;
    EXPECT_EQ(optimum.trees, known.trees) << known.name;
    EXPECT_NEAR(optimum.all_gather, known.all_gather, 1e-12 * known.all_gather) << known.name;
    EXPECT_NEAR(optimum.all_reduce_bus, known.all_reduce_bus, 1e-12 * known.all_reduce_bus)
        << known.name;
  }
}

TEST(TreeOptimum, TellsTheCutThatLimits) {
  for (const auto& known : known_optima()) {
    const TreeOptimum optimum = tree_optimum(known.graph);
    std::vector<bool> inside(known.graph.vertices.size());
    for (const int vertex : optimum.cut.side) inside[static_cast<std::size_t>(vertex)] = true;
    double ranks = 0;
    for (const int rank : known.graph.compute)
      ranks += inside[static_cast<std::size_t>(rank)] ? 1 : 0;
    double capacity = 0;
    for (const int arc : optimum.cut.arcs) {
      const auto& crossing = known.graph.arcs[static_cast<std::size_t>(arc)];
      EXPECT_TRUE(inside[static_cast<std::size_t>(crossing.from)]);
      EXPECT_FALSE(inside[static_cast<std::size_t>(crossing.to)]);
      capacity += crossing.capacity;
    }
    EXPECT_EQ(capacity, optimum.cut.capacity) << known.name;
    EXPECT_NEAR(ranks / capacity * 1e9 * static_cast<double>(optimum.denominator),
                static_cast<double>(optimum.numerator), 1e-9)
        << known.name;
  }
}

TEST(TreeOptimum, OfTwoSocketsIsLimitedByTheLinkBetweenThem) {
  const CapacityGraph graph = two_sockets(4, 24, 10);
  const TreeOptimum optimum = tree_optimum(graph);
  ASSERT_EQ(optimum.cut.arcs.size(), 1U);
  EXPECT_EQ(graph.arcs[static_cast<std::size_t>(optimum.cut.arcs[0])].capacity, 10e9);
}

TEST(TreeOptimum, DoesNotDependOnTheUnit) {
  const CapacityGraph graph = two_sockets(4, 24, 10);
  std::vector<std::int64_t> units;
  for (const auto& arc : graph.arcs) units.push_back(std::llround(arc.capacity / 1e9) * 35);
  const TreeOptimum optimum = tree_optimum(graph, units);
  EXPECT_EQ(optimum.numerator, 2);
  EXPECT_EQ(optimum.denominator, 5 * 35);
  EXPECT_EQ(optimum.trees, 5);
  EXPECT_EQ(optimum.all_gather, 20 * 35);
}

TEST(TreeOptimum, OfCapacitiesWithDecimalsIsExactToo) {
  const TreeOptimum star_of_three = tree_optimum(star(3, 20.6));
  EXPECT_EQ(star_of_three.unit, 1e9);
  EXPECT_EQ(star_of_three.numerator, 10);
  EXPECT_EQ(star_of_three.denominator, 103);  // 2 / 20.6
  const TreeOptimum mixed = tree_optimum(two_switches_on_sockets(2, 31.5, 24, 20.6));
  EXPECT_EQ(mixed.numerator, 10);
  EXPECT_EQ(mixed.denominator, 103);  // 2 ranks over 20.6, more than 3 over 31.5
}

TEST(TreeOptimum, OfCapacitiesWithoutACommonUnitIsWithinAMillionth) {
  GraphBuilder builder;
  const int hub = builder.vertex("switch");
  for (const double speed : {3.14159265358979, 24.0001, 299.99937})
    builder.link(builder.rank(), hub, speed);
  const TreeOptimum optimum = tree_optimum(builder.graph());
  const double expected = 3 * 3.14159265358979e9 / 2;
  EXPECT_NEAR(optimum.all_gather * optimum.unit, expected, 2e-6 * expected);
}

TEST(TreeOptimum, OfLinksOfVeryDifferentSpeedsIsStillFound) {
  GraphBuilder builder;
  const int hub = builder.vertex("switch");
  for (int i = 0; i < 1000; ++i) builder.link(builder.rank(), hub, i == 7 ? 0.00123457 : 4999.7);
  const double expected = 1000 * 0.00123457e9 / 999;
  const TreeOptimum optimum = tree_optimum(builder.graph());
  EXPECT_NEAR(optimum.all_gather * optimum.unit, expected, 1e-3 * expected);
}

TEST(TreeOptimum, TakesAnUnlimitedLinkForNoLimit) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(tree_optimum(two_switches_on_sockets(4, 24, infinite, 10)).all_gather, 20);
}

TEST(TreeOptimum, TakesTheLesserDirectionWhereTheyDiffer) {
  GraphBuilder builder;
  const int a = builder.rank();
  const int b = builder.rank();
  builder.arc(a, b, 24);
  builder.arc(b, a, 20);
  EXPECT_EQ(tree_optimum(builder.graph()).all_gather, 40);
}

TEST(TreeOptimum, EqualsTheWorstOfAllCutsOnRandomMachines) {
  std::mt19937 random(7);
  int connected = 0;
  for (int round = 0; round < 400; ++round) {
    const CapacityGraph graph = random_graph(random, true);
    const double worst = worst_of_all_cuts(graph, Demand::gather_to_everyone, 0);
    if (std::isinf(worst)) {
      EXPECT_THROW((void)tree_optimum(graph), Error);
      continue;
    }
    ++connected;
    const TreeOptimum optimum = tree_optimum(graph);
    ASSERT_NEAR(1 / (optimum.all_gather * optimum.unit), worst, 1e-12 * worst) << "round " << round;
  }
  EXPECT_GT(connected, 100);
}

TEST(TreeOptimum, RefusesWhatIsNoMachine) {
  GraphBuilder one_way;
  const int a = one_way.rank();
  const int b = one_way.rank();
  one_way.arc(a, b, 24);
  EXPECT_THROW((void)tree_optimum(one_way.graph(), {24}), Error) << "unbalanced";
  EXPECT_THROW((void)tree_optimum(one_way.graph()), Error) << "not connected";
  EXPECT_THROW((void)tree_optimum(star(1, 24)), Error) << "a single rank";
  EXPECT_THROW((void)tree_optimum(star(2, 24), {1, 1, 1}), Error) << "a capacity too few";
  EXPECT_THROW((void)tree_optimum(star(2, 24), {-1, -1, 1, 1}), Error) << "negative";
  EXPECT_THROW((void)tree_optimum(star(2, -24)), Error) << "negative";
  EXPECT_THROW((void)tree_optimum(star(2, std::nan(""))), Error) << "no number";
  const std::int64_t fine = std::int64_t{1} << 60;
  EXPECT_THROW((void)tree_optimum(star(2, 24), {fine, fine, fine, fine}), Error) << "too fine";
}

}  // namespace
}  // namespace ringside::tests
