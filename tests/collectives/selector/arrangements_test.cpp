// SPDX-License-Identifier: MIT
/// Orders and groups of ranks: what a machine does not tell apart, and what its parts suggest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "preset_machines.hpp"
#include "ringside/collectives/selector/fabric_order.hpp"
#include "ringside/collectives/selector/groupings.hpp"
#include "ringside/collectives/selector/orders.hpp"
#include "ringside/collectives/selector/symmetry.hpp"

namespace ringside::tests {
namespace {

constexpr std::size_t no_limit = 100'000;

Symmetry symmetry_of(const Machine& machine) { return {machine, all_gpus(machine)}; }

TEST(Symmetry, GpusOnOneSwitchAreAlikeInAnyOrder) {
  const Machine machine = machine_of("dgx-h100");
  EXPECT_EQ(symmetry_of(machine).orders(std::nullopt, no_limit).size(), 1U);
  EXPECT_EQ(symmetry_of(machine_of("4gpu-pcie4-one-root")).orders(0, no_limit).size(), 1U);
}

TEST(Symmetry, TheCardInTheNarrowSlotIsLikeNoOther) {
  const Machine machine = machine_of("4gpu-pcie4-x4-slot");
  const Symmetry symmetry = symmetry_of(machine);
  EXPECT_TRUE(symmetry.alike({}, 0, 2));
  EXPECT_FALSE(symmetry.alike({}, 0, 3));
  EXPECT_EQ(symmetry.orders(std::nullopt, no_limit).size(), 4U) << "by the place of that card";
}

TEST(Symmetry, SocketsMayBeExchangedButNotMixed) {
  const Machine machine = machine_of("4gpu-pcie4-two-sockets");
  const Symmetry symmetry = symmetry_of(machine);
  EXPECT_TRUE(symmetry.alike({}, 0, 3));
  const std::vector<int> first = {0};
  EXPECT_TRUE(symmetry.alike(first, 2, 3));
  EXPECT_FALSE(symmetry.alike(first, 1, 2));
  // After 0 comes its neighbour or one across; then, after its neighbour or one across, ...
  EXPECT_EQ(symmetry.orders(0, no_limit),
            (std::vector<Order>{{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 2, 3, 1}}));
}

/// The rings of 8 fall into classes; every one is like the ring listed for it: as much load, as
/// much delay.
TEST(Symmetry, WhatIsLeftOutIsLikeSomethingListed) {
  for (const auto* name : {"dgx1v", "8gpu-two-sockets"}) {
    const Machine machine = machine_of(name);
    const auto gpus = all_gpus(machine);
    const OrderCosts costs(machine, gpus);
    const auto key = [&](const Order& ring) {
      const OrderCost cost = costs.of_rings({&ring, 1});
      return std::pair(std::llround(cost.load * 1e18), std::llround(cost.delay * 1e15));
    };
    std::set<std::pair<long long, long long>> listed;
    for (const Order& ring : symmetry_of(machine).orders(0, no_limit)) listed.insert(key(ring));
    Order ring = gpus;
    do {
      ASSERT_TRUE(listed.contains(key(ring))) << name;
    } while (std::next_permutation(ring.begin() + 1, ring.end()));
  }
}

TEST(Symmetry, ListsNoMoreThanAsked) {
  EXPECT_EQ(symmetry_of(machine_of("dgx1v")).orders(0, 7).size(), 7U);
}

Groups groups_by(std::string_view preset, const std::string& by) {
  const Machine machine = machine_of(preset);
  for (const auto& grouping : groupings(machine.topology(), all_gpus(machine)))
    if (grouping.by == by) return grouping.groups;
  return {};
}

TEST(Groupings, FollowThePartsOfTheMachine) {
  EXPECT_EQ(groups_by("8gpu-two-sockets", "NUMA node"), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(groups_by("4gpu-pcie4-two-switches", "upper switch"), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(groups_by("4gpu-nvlink-pairs", "NVLink"), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(groups_by("p3.16xlarge", "NVLink"), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}))
      << "the guest sees no sockets";
  EXPECT_EQ(groups_by("fat-tree:boxes=4", "box").size(), 4U);
}

TEST(Groupings, AreEachAPartitionAndNoneIsThereTwice) {
  for (const auto& name : preset_names()) {
    const Machine machine = machine_of(name);
    std::vector<Groups> seen;
    for (const auto& grouping : groupings(machine.topology(), all_gpus(machine))) {
      std::vector<int> ranks;
      for (const auto& group : grouping.groups)
        ranks.insert(ranks.end(), group.begin(), group.end());
      std::sort(ranks.begin(), ranks.end());
      EXPECT_EQ(ranks, all_gpus(machine)) << name << ", by " << grouping.by;
      EXPECT_EQ(std::count(seen.begin(), seen.end(), grouping.groups), 0) << name;
      seen.push_back(grouping.groups);
    }
  }
}

TEST(Groupings, OfSomeOfTheGpusCountTheseAlone) {
  const Machine machine = machine_of("8gpu-two-sockets");
  const std::vector<int> gpus = {6, 1, 5, 0};
  const auto found = groupings(machine.topology(), gpus);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().groups, (Groups{{0, 2}, {1, 3}})) << "ranks, not GPUs";
}

TEST(Orders, AlongTheMachineAreOrdersAndBoxesMeetAtGpusAlike) {
  const Machine machine = machine_of("fat-tree:boxes=4");
  const auto orders = orders_along(machine.topology(), all_gpus(machine));
  ASSERT_GE(orders.size(), 2U);
  for (Order order : orders) {
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, all_gpus(machine));
  }
  const Order& snake = orders.back();
  EXPECT_EQ(snake[7] % 8, snake[8] % 8);
}

TEST(Orders, TheBestRingCrossesTheSlowLinkOnceEachWay) {
  const Machine machine = machine_of("4gpu-pcie4-two-sockets");
  const auto gpus = all_gpus(machine);
  const OrderCosts costs(machine, gpus);
  const std::vector<Order> rings = {{0, 2, 1, 3}, {0, 1, 2, 3}};
  const std::vector<OrderCost> of_rings = {costs.of_rings({&rings[0], 1}),
                                           costs.of_rings({&rings[1], 1})};
  EXPECT_NEAR(of_rings[0].load, 2 * of_rings[1].load, 1e-15);
  EXPECT_EQ(best_orders(of_rings, 1), (std::vector<std::size_t>{1}));
}

// --- orders and NVLink ---------------------------------------------------------------------------

TEST(FabricOrder, SaysWhereARingLeavesNvlinkAndWhichStays) {
  const Machine machine = machine_of("dgx1v");
  const auto gpus = all_gpus(machine);
  const auto remark = off_fabric_remark(machine, gpus, parse_spec("ring:slices=4"));
  EXPECT_NE(remark.find("leaves NVLink from GPU3 to GPU4 and from GPU7 to GPU0; ring:order="),
            std::string::npos)
      << remark;
  const auto begin = remark.find("ring:"), end = remark.find(" stays");
  const auto better = remark.substr(begin, end - begin);
  EXPECT_NE(better.find("slices=4"), std::string::npos) << better;
  EXPECT_EQ(off_fabric_remark(machine, gpus, parse_spec(better)), "");
}

TEST(FabricOrder, HasNothingToSayOfOthers) {
  for (const auto& [preset, spec] : std::vector<std::pair<const char*, const char*>>{
           {"dgx1v", "two_shot"},
           {"dgx-a100", "ring"},
           {"4gpu-pcie4-one-root", "ring"},
           {"4gpu-nvlink-pairs", "ring"}}) {  // no ring of NVLink alone
    const Machine machine = machine_of(preset);
    EXPECT_EQ(off_fabric_remark(machine, all_gpus(machine), parse_spec(spec)), "") << preset;
  }
}

}  // namespace
}  // namespace ringside::tests
