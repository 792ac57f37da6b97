// SPDX-License-Identifier: MIT
/// Bounds of any plan against all cuts of small machines, textbook values, and what is feasible.
#include "ringside/topology/bounds/bounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "brute_force.hpp"
#include "machines.hpp"
#include "ringside/base/error.hpp"

namespace ringside::tests {
namespace {

constexpr std::array demands = {Demand::all_to_everyone_reduced, Demand::gather_to_everyone,
                                Demand::reduce_to_shards,        Demand::one_to_everyone,
                                Demand::everyone_to_one,         Demand::shards_to_one,
                                Demand::one_to_shards,           Demand::all_to_all};

const Bound& worst_cut_of(const std::vector<Bound>& bounds) {
  return *std::find_if(bounds.begin(), bounds.end(),
                       [](const Bound& bound) { return !bound.cut.side.empty(); });
}

double tightest(const CapacityGraph& graph, Demand demand) {
  return bounds_of_any_plan(graph, demand).front().seconds_per_byte * 1e9;
}

TEST(Bounds, EqualTheWorstOfAllCutsForEveryDemandAndRoot) {
  std::mt19937 random(11);
  int connected = 0;
  for (int round = 0; round < 200; ++round) {
    const CapacityGraph graph = random_graph(random, round % 2 == 0);
    for (const Demand demand : demands)
      for (int root = 0; root < static_cast<int>(graph.compute.size()); ++root) {
        const double worst = worst_of_all_cuts(graph, demand, root);
        if (std::isinf(worst)) {
          EXPECT_THROW((void)bounds_of_any_plan(graph, demand, root), Error);
          continue;
        }
        ++connected;
        const auto bounds = bounds_of_any_plan(graph, demand, root);
        ASSERT_NEAR(worst_cut_of(bounds).seconds_per_byte, worst, 1e-12 * worst)
            << "round " << round << ", demand " << static_cast<int>(demand) << ", root " << root;
      }
  }
  EXPECT_GT(connected, 1000);
}

TEST(Bounds, DoNotExceedWhatSpanningTreesReach) {
  std::mt19937 random(13);
  int tried = 0;
  for (int round = 0; round < 300; ++round) {
    const CapacityGraph graph = random_graph(random, true);
    if (std::isinf(worst_of_all_cuts(graph, Demand::gather_to_everyone, 0))) continue;
    ++tried;
    const TreeOptimum optimum = tree_optimum(graph);
    const double reached = 2 / (optimum.all_gather * optimum.unit);
    const auto bounds = bounds_of_any_plan(graph, Demand::all_to_everyone_reduced);
    ASSERT_LE(bounds.front().seconds_per_byte, reached * (1 + 1e-9)) << "round " << round;
  }
  EXPECT_GT(tried, 100);
}

TEST(Bounds, OfReversedMachinesAreThoseOfTheReversedDemand) {
  std::mt19937 random(17);
  for (int round = 0; round < 50; ++round) {
    const CapacityGraph graph = random_graph(random, false);
    CapacityGraph reversed = graph;
    for (auto& arc : reversed.arcs) std::swap(arc.from, arc.to);
    for (const auto& [demand, mirrored] :
         {std::pair{Demand::gather_to_everyone, Demand::reduce_to_shards},
          std::pair{Demand::one_to_everyone, Demand::everyone_to_one},
          std::pair{Demand::shards_to_one, Demand::one_to_shards},
          std::pair{Demand::all_to_all, Demand::all_to_all}}) {
      if (std::isinf(worst_of_all_cuts(graph, demand, 0))) continue;
      EXPECT_NEAR(bounds_of_any_plan(graph, demand)[0].seconds_per_byte,
                  bounds_of_any_plan(reversed, mirrored)[0].seconds_per_byte, 1e-20);
    }
  }
}

TEST(Bounds, AreTheTightestFirst) {
  const auto bounds = bounds_of_any_plan(a100_boxes(4), Demand::all_to_everyone_reduced);
  ASSERT_GE(bounds.size(), 3U);
  for (std::size_t i = 1; i < bounds.size(); ++i)
    EXPECT_GE(bounds[i - 1].seconds_per_byte, bounds[i].seconds_per_byte);
}

TEST(Bounds, OfAllReduceOnASwitchAreThePortsOfTheRanks) {
  const auto bounds = bounds_of_any_plan(star(4, 24), Demand::all_to_everyone_reduced);
  EXPECT_NEAR(bounds[0].seconds_per_byte, 6 / 96e9, 1e-24);
  EXPECT_TRUE(bounds[0].ranks_reduce);
  EXPECT_TRUE(bounds[0].cut.side.empty());
  EXPECT_EQ(bounds[0].domains.size(), 4U);
  EXPECT_EQ(bounds[0].reason,
            "6 times the message must enter the 4 ranks, which take in 96 GB/s together");
  EXPECT_NEAR(worst_cut_of(bounds).seconds_per_byte, 1 / 24e9, 1e-24);
  EXPECT_FALSE(worst_cut_of(bounds).ranks_reduce);
}

TEST(Bounds, OfAllReduceOnTwoSocketsAreTheLinkBetweenThem) {
  const auto bounds = bounds_of_any_plan(two_sockets(4, 24, 10), Demand::all_to_everyone_reduced);
  EXPECT_NEAR(bounds[0].seconds_per_byte, 1 / 10e9, 1e-24);
  EXPECT_EQ(bounds[0].reason,
            "all of the message must leave GPU0, GPU1, GPU2 and GPU3, at 10 GB/s over socket0 -> "
            "socket1");
}

TEST(Bounds, OfSeveralBoxesCountWhatEntersBoxes) {
  // Neither a cut (1/200) nor the ranks' ports say as much as 2 (4 - 1) messages into 4 boxes.
  const auto bounds = bounds_of_any_plan(a100_boxes(4), Demand::all_to_everyone_reduced);
  EXPECT_NEAR(bounds[0].seconds_per_byte, 6 / (4 * 200e9), 1e-24);
  EXPECT_EQ(bounds[0].domains.size(), 4U);
  EXPECT_TRUE(bounds[0].ranks_reduce);
}

TEST(Bounds, MeetTheTreeOptimumWhereBoxesAreAlike) {
  const TreeOptimum optimum = tree_optimum(a100_boxes(4));
  EXPECT_NEAR(tightest(a100_boxes(4), Demand::all_to_everyone_reduced), 2 / optimum.all_gather,
              1e-12);
}

TEST(Bounds, OfACardInANarrowSlotAreBelowWhatSpanningTreesReach) {
  GraphBuilder builder;
  const int host = builder.vertex("host");
  for (const double speed : {24, 24, 24, 6}) builder.link(builder.rank(), host, speed);
  const auto bounds = bounds_of_any_plan(builder.graph(), Demand::all_to_everyone_reduced);
  EXPECT_NEAR(bounds[0].seconds_per_byte, 1 / 6e9, 1e-24);
  EXPECT_NEAR(2 / tree_optimum(builder.graph()).all_gather, 1.5 / 6, 1e-12);
}

TEST(Bounds, OfOtherCollectivesOnASwitchAreTheTextbooks) {
  const CapacityGraph graph = star(4, 24);
  EXPECT_NEAR(tightest(graph, Demand::gather_to_everyone), 3.0 / 4 / 24, 1e-12);
  EXPECT_NEAR(tightest(graph, Demand::reduce_to_shards), 3.0 / 4 / 24, 1e-12);
  EXPECT_NEAR(tightest(graph, Demand::one_to_everyone), 1.0 / 24, 1e-12);
  EXPECT_NEAR(tightest(graph, Demand::everyone_to_one), 1.0 / 24, 1e-12);
  EXPECT_NEAR(tightest(graph, Demand::shards_to_one), 3.0 / 4 / 24, 1e-12);
  EXPECT_NEAR(tightest(graph, Demand::one_to_shards), 3.0 / 4 / 24, 1e-12);
  EXPECT_NEAR(tightest(graph, Demand::all_to_all), 3.0 / 4 / 24, 1e-12);
}

TEST(Bounds, OfAllToAllOnManyRanksKnowTheSlowLinks) {
  // 8 x 8 of 16 blocks over a link of 10: more than 15 of 16 out of a GPU of 24.
  EXPECT_NEAR(tightest(two_sockets(8, 24, 10), Demand::all_to_all), 64.0 / 16 / 10, 1e-12);
  EXPECT_NEAR(tightest(a100_boxes(4), Demand::all_to_all), 8.0 * 24 / 32 / 200, 1e-12);
}

TEST(Bounds, CountEveryRankThatSharesAVertex) {
  CapacityGraph graph = two_sockets(1, 24, 10);
  graph.compute = {graph.compute[0], graph.compute[0], graph.compute[0], graph.compute[1]};
  EXPECT_NEAR(tightest(graph, Demand::gather_to_everyone), 3.0 / 4 / 10, 1e-12);
  EXPECT_NEAR(tightest(graph, Demand::all_to_everyone_reduced), 1.0 / 10, 1e-12);
  graph.compute = {graph.compute[0], graph.compute[0]};
  EXPECT_EQ(tightest(graph, Demand::all_to_everyone_reduced), 0);
}

TEST(Bounds, RefuseARootThatIsNoRank) {
  EXPECT_THROW((void)bounds_of_any_plan(star(3, 24), Demand::one_to_everyone, 3), Error);
  EXPECT_THROW((void)bounds_of_any_plan(star(3, 24), Demand::one_to_everyone, -1), Error);
}

}  // namespace
}  // namespace ringside::tests
