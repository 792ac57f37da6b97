// SPDX-License-Identifier: MIT
/// Steps and bytes counted from plans equal textbook formulas and a brute-force count.
#include "ringside/collectives/cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "plans_under_test.hpp"

namespace ringside {
namespace {

using test::hand_made;
using test::input;
using test::output;
using test::scratch;

/// float32, one block of `elements`.
Cost cost(const Plan& plan, std::size_t elements) {
  return cost_of(plan, std::vector<std::size_t>{elements}, 4);
}

Cost cost(const std::string& spec, int ranks, std::size_t elements, bool in_place = false) {
  return cost(make_plan(spec, test::all_reduce(ranks, in_place)), elements);
}

TEST(Cost, counts_one_hop_to_fetch_and_one_more_to_deliver) {
  // Rank 1 adds what lies at ranks 0 and 2 and stores it at both.
  const Plan plan = hand_made(test::all_reduce(3), {},
                              {{1,
                                0,
                                1,
                                {input(0, 0), input(1, 0), input(2, 0)},
                                {output(0, 0), output(1, 0), output(2, 0)}}});
  const Cost all = cost(plan, 10);
  EXPECT_EQ(all.steps, 2);
  EXPECT_EQ(all.ops, 1u);
  EXPECT_EQ(all.transfers, 4u);
  EXPECT_EQ(all.sent, (std::vector<std::uint64_t>{40, 80, 40}));
  EXPECT_EQ(all.received, (std::vector<std::uint64_t>{40, 80, 40}));
  EXPECT_EQ(all.links, (std::vector<LinkBytes>{{0, 1, 40}, {1, 0, 40}, {1, 2, 40}, {2, 1, 40}}));
  EXPECT_EQ(all.busiest_sent(), 80u);
  EXPECT_EQ(all.busiest_received(), 80u);
}

TEST(Cost, local_ops_are_no_steps_and_move_nothing) {
  const Cost alone = cost("ring", 1, 10);
  EXPECT_EQ(alone.steps, 0);
  EXPECT_EQ(alone.transfers, 0u);
  EXPECT_EQ(alone.busiest_sent(), 0u);
  EXPECT_TRUE(alone.links.empty());
}

TEST(Cost, bytes_are_those_of_chunks_that_do_not_divide_evenly) {
  // 7 elements in 3 chunks: 3, 2, 2. Rank 0 sends chunks 1 and 2, rank 1 chunk 0.
  const Plan plan = hand_made(test::all_reduce(2), {.chunks_per_block = 3},
                              {{1, 0, 2, {input(0, 1), input(1, 1)}, {output(1, 1)}},
                               {0, 0, 1, {input(0, 0), input(1, 0)}, {output(0, 0)}}});
  EXPECT_EQ(cost(plan, 7).links, (std::vector<LinkBytes>{{0, 1, 16}, {1, 0, 12}}));
  // Links that carry nothing are left out.
  EXPECT_EQ(cost(plan, 1).links, (std::vector<LinkBytes>{{1, 0, 4}}));
}

TEST(Cost, blocks_may_differ_in_length) {
  const Plan plan = hand_made({Collective::all_gather, 2}, {},
                              {{0, 0, 1, {input(0, 0)}, {output(0, 0), output(1, 0)}},
                               {1, 0, 1, {input(1, 1)}, {output(0, 1), output(1, 1)}}});
  const Cost uneven = cost_of(plan, std::vector<std::size_t>{5, 100}, 2);
  EXPECT_EQ(uneven.sent, (std::vector<std::uint64_t>{10, 200}));
  try {
    (void)cost_of(plan, std::vector<std::size_t>{5}, 2);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
}

TEST(Cost, scratch_holds_depth_times_the_longest_slice_of_every_chunk) {
  // 11 elements in 2 chunks: 6 and 5, in 4 slices: at most 2 each.
  const Plan plan = hand_made(test::all_reduce(2), {.chunks_per_block = 2, .slices = 4, .depth = 3},
                              {}, {{1, {0, 2}}, {1, {1, 1}}});
  EXPECT_EQ(cost(plan, 11).scratch, (std::vector<std::uint64_t>{0, 3 * (2 + 2 + 2) * 4}));
}

TEST(Cost, is_that_of_the_catalogue) {
  for (const int n : {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 64})
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE(std::to_string(n) + " ranks");
      const auto ranks = static_cast<std::size_t>(n);
      const std::size_t elements = 24 * ranks;
      const std::uint64_t bytes = 4 * elements;
      const int log2_up = std::bit_width(ranks - 1);

      const Cost naive = cost("naive", n, elements, in_place);
      EXPECT_EQ(naive.steps, n);
      EXPECT_EQ(naive.sent[0], (ranks - 1) * bytes);
      EXPECT_EQ(naive.received[0], (ranks - 1) * bytes);

      const Cost ring = cost("ring", n, elements, in_place);
      EXPECT_EQ(ring.steps, 2 * (n - 1));
      EXPECT_EQ(ring.busiest_sent(), 2 * bytes / ranks * (ranks - 1));
      EXPECT_EQ(ring.busiest_received(), ring.busiest_sent());
      EXPECT_EQ(ring.links.size(), ranks);

      EXPECT_EQ(cost("chain", n, elements, in_place).steps, 2 * (n - 1));
      EXPECT_EQ(cost("binomial", n, elements, in_place).steps, 2 * log2_up);
      EXPECT_EQ(cost("recursive_doubling", n, elements, in_place).steps,
                std::bit_width(ranks) - 1 + (std::has_single_bit(ranks) ? 0 : 2));

      const Cost one_shot = cost("one_shot", n, elements, in_place);
      EXPECT_EQ(one_shot.steps, 1);
      EXPECT_EQ(one_shot.busiest_sent(), (ranks - 1) * bytes);

      const Cost two_shot = cost("two_shot", n, elements, in_place);
      EXPECT_EQ(two_shot.steps, 2);
      EXPECT_EQ(two_shot.busiest_sent(), 2 * bytes / ranks * (ranks - 1));
    }
}

TEST(Cost, every_slice_of_a_pipeline_adds_one_step) {
  for (const int n : {2, 3, 5, 8})
    for (const int slices : {1, 2, 3, 8, 32})
      EXPECT_EQ(cost("chain:slices=" + std::to_string(slices), n, 1000).steps,
                2 * (n - 1) + slices - 1)
          << n << " ranks, " << slices << " slices";
}

TEST(Cost, slices_that_wait_for_scratch_do_not_overlap) {
  // Rank 0 pushes to scratch of rank 1, out of which rank 2 fetches: two hops a slice.
  const auto steps = [](int slices, int depth) {
    const Plan plan = hand_made(test::all_reduce(3), {.slices = slices, .depth = depth},
                                {{0, 0, 1, {input(0, 0)}, {scratch(1, 0, 0)}},
                                 {2, 0, 1, {scratch(1, 0, 0)}, {output(2, 0)}}},
                                {{1, {0, 1}}});
    return cost(plan, 100).steps;
  };
  EXPECT_EQ(steps(1, 1), 2);
  EXPECT_EQ(steps(7, 1), 14);
  EXPECT_EQ(steps(7, 2), 8);
  EXPECT_EQ(steps(7, 5), 8);
}

TEST(Cost, sums_agree_with_links_for_every_algorithm) {
  for (const auto& name : test::registered_names())
    for (const int n : {2, 3, 5, 8, 9}) {
      const auto plan = test::try_plan(name, test::all_reduce(n));
      if (!plan) continue;
      SCOPED_TRACE(name + " of " + std::to_string(n) + " ranks");
      const Cost all = cost(*plan, 1009);
      std::vector<std::uint64_t> sent(all.sent.size()), received(sent.size());
      for (const auto& link : all.links) {
        EXPECT_NE(link.from, link.to);
        EXPECT_GT(link.bytes, 0u);
        sent[static_cast<std::size_t>(link.from)] += link.bytes;
        received[static_cast<std::size_t>(link.to)] += link.bytes;
      }
      EXPECT_EQ(sent, all.sent);
      EXPECT_EQ(received, all.received);
      EXPECT_TRUE(std::is_sorted(all.links.begin(), all.links.end(), [](auto& a, auto& b) {
        return std::pair(a.from, a.to) < std::pair(b.from, b.to);
      }));
      // Every rank must learn of the others' data, so nobody gets away with less than S.
      EXPECT_GE(*std::min_element(received.begin(), received.end()), 1009u * 4);
    }
}

/// The longest path by definition: every pair of (op, slice)s that share a stream or conflict.
int longest_path_by_pairs(const Plan& plan) {
  struct Node {
    std::size_t op;
    int slice;
    int end;
  };
  const Cells cells(plan);
  const int depth = plan.shape().depth;
  const auto conflict = [&](const Op& a, const Op& b, bool same_slice, bool same_place) {
    const auto meet = [&](std::span<const Location> x, std::span<const Location> y) {
      for (const auto& p : x)
        for (const auto& q : y)
          for (int i = 0; i < a.count; ++i)
            for (int j = 0; j < b.count; ++j) {
              const auto cell = cells.at(p, i);
              if (cell == cells.at(q, j) && (same_slice || (same_place && cells.is_scratch(cell))))
                return true;
            }
      return false;
    };
    return meet(a.destinations, b.destinations) || meet(a.destinations, b.sources) ||
           meet(a.sources, b.destinations);
  };
  std::vector<Node> nodes;
  int longest = 0;
  for (int slice = 0; slice < plan.shape().slices; ++slice)
    for (std::size_t index = 0; index < plan.size(); ++index) {
      const Op op = plan.op(index);
      int start = 0;
      for (const Node& before : nodes) {
        const Op other = plan.op(before.op);
        const bool queued = other.rank == op.rank && other.lane == op.lane;
        if (queued ||
            conflict(other, op, before.slice == slice, (slice - before.slice) % depth == 0))
          start = std::max(start, before.end);
      }
      const auto remote = [&](const Location& location) { return location.rank != op.rank; };
      const int end = start + (std::any_of(op.sources.begin(), op.sources.end(), remote) ? 1 : 0) +
                      (std::any_of(op.destinations.begin(), op.destinations.end(), remote) ? 1 : 0);
      nodes.push_back({index, slice, end});
      longest = std::max(longest, end);
    }
  return longest;
}

TEST(Cost, steps_are_the_longest_path_through_queues_and_conflicts) {
  for (const Request& request : test::requests_of({2, 3, 4, 5}))
    for (const auto& name : test::registered_names(request.collective))
      for (const std::string shape : {":slices=1", ":slices=4", ":slices=5,lanes=1,depth=1"}) {
        if (request.collective == Collective::all_reduce && !request.in_place) continue;
        const auto plan = test::try_plan(name + shape, request);
        if (!plan) continue;
        const std::vector<std::size_t> blocks(static_cast<std::size_t>(block_count(request)), 100);
        EXPECT_EQ(cost_of(*plan, blocks, 4).steps, longest_path_by_pairs(*plan))
            << test::words(name + shape, request);
      }
}

}  // namespace
}  // namespace ringside
