// SPDX-License-Identifier: MIT
/// The choice of an algorithm for ranks on several hosts.
#include "ringside/collectives/selector/hosts_choice.hpp"

#include <gtest/gtest.h>

#include <string>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"

namespace ringside::tests {
namespace {

constexpr double slow = 1.25e8;  // 1 Gbit/s

HostsLayout two_by_two(double bandwidth = slow) {
  return {.host_of = {0, 0, 1, 1}, .network_bandwidth = bandwidth};
}

Request all_reduce(int ranks) { return {Collective::all_reduce, ranks, 0, false}; }

/// Seconds a byte that the network takes, nothing else counted.
double network_part(const std::string& spec, HostsLayout layout) {
  const Plan plan = make_plan(spec, all_reduce(static_cast<int>(layout.host_of.size())));
  const double with = hosts_cost(plan, layout).seconds_per_byte;
  layout.network_bandwidth = 1e30;
  return with - hosts_cost(plan, layout).seconds_per_byte;
}

TEST(HostsChoice, WhatCrossesIsThatOfTheTextbook) {
  // A ring sends 2 (n - 1) / n of the message over every link, one of which leaves a host.
  EXPECT_NEAR(network_part("ring", two_by_two()) * slow, 2 * 3.0 / 4, 1e-9);
  // In groups by hosts: 2 (h - 1) / h leave a host.
  EXPECT_NEAR(
      network_part("hierarchical:groups=0-1/2-3,inner=two_shot,outer=ring", two_by_two()) * slow,
      1.0, 1e-9);
  const HostsLayout three{.host_of = {0, 0, 1, 1, 2, 2}, .network_bandwidth = slow};
  EXPECT_NEAR(
      network_part("hierarchical:groups=0-1/2-3/4-5,inner=two_shot,outer=ring", three) * slow,
      4.0 / 3, 1e-9);
}

TEST(HostsChoice, AChainOfHopsBetweenHostsCostsItsLatency) {
  HostsLayout layout = two_by_two();
  layout.network_latency = 1;
  // Down to the other host and back: two messages one after the other.
  EXPECT_NEAR(hosts_cost(make_plan("chain", all_reduce(4)), layout).seconds, 2, 1e-3);
}

TEST(HostsChoice, LongMessagesOverASlowNetworkGoByHosts) {
  for (const std::uint64_t bytes : {std::uint64_t{8} << 20, std::uint64_t{256} << 20}) {
    const Choice choice = choose_across_hosts(two_by_two(), all_reduce(4), bytes);
    EXPECT_EQ(choice.spec.find("hierarchical:groups=0-1/2-3"), 0u) << choice.spec;
    EXPECT_EQ(choice.spec.find("slices=") != std::string::npos, bytes > (64u << 20)) << choice.spec;
    EXPECT_NE(choice.why.find("2 hosts"), std::string::npos) << choice.why;
  }
}

TEST(HostsChoice, ShortMessagesTakeFewSteps) {
  HostsLayout layout = two_by_two();
  layout.network_latency = 1e-3;
  const Choice choice = choose_across_hosts(layout, all_reduce(4), 1024);
  const double chosen = hosts_cost(make_plan(choice.spec, all_reduce(4)), layout).seconds;
  EXPECT_LT(chosen, 2.1e-3) << choice.spec;
}

TEST(HostsChoice, RanksNeedNotLieInOrder) {
  const HostsLayout layout{.host_of = {0, 1, 0, 1}, .network_bandwidth = slow};
  const Choice choice = choose_across_hosts(layout, all_reduce(4), 64 << 20);
  EXPECT_EQ(choice.spec.find("hierarchical:groups=0-2/1-3"), 0u) << choice.spec;
}

TEST(HostsChoice, EveryCollectiveIsServedWhateverThePlacement) {
  for (const auto collective :
       {Collective::reduce_scatter, Collective::all_gather, Collective::broadcast,
        Collective::reduce, Collective::gather, Collective::scatter, Collective::all_to_all})
    for (const std::uint64_t bytes : {1u, 10'000'000u}) {
      const int root = has_root(collective) ? 1 : 0;
      const Choice choice = choose_across_hosts(two_by_two(), {collective, 4, root, false}, bytes);
      if (collective == Collective::all_to_all) continue;
      EXPECT_EQ(choose_across_hosts(two_by_two(), {collective, 4, root, true}, bytes).spec,
                choice.spec);
    }
  EXPECT_THROW((void)choose_across_hosts(two_by_two(), {Collective::barrier, 4, 0, false}, 0),
               Error);
}

}  // namespace
}  // namespace ringside::tests
