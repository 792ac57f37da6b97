// SPDX-License-Identifier: MIT
/// Lowered plans do only what the machine allows, and still mean the same.
#include "ringside/collectives/lower.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "plans_under_test.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside {
namespace {

using test::hand_made;
using test::input;
using test::output;
using test::scratch;

AccessMatrix everywhere(int ranks, Access access) {
  AccessMatrix matrix = full_access(ranks);
  for (auto& row : matrix) std::fill(row.begin(), row.end(), access);
  return matrix;
}

/// The lowered plan, shown to be right: allowed, proven, the same bits, and its waits complete.
Plan checked(const Plan& plan, const AccessMatrix& access) {
  Plan lowered = lower(plan, access);
  EXPECT_TRUE(allowed(lowered, access));
  const Proof proof = prove(lowered);
  EXPECT_TRUE(proof.holds()) << proof.refuted.value_or(Refutation{}).message;
  if (proof.holds() && prove(plan).holds()) {
    const auto difference = difference_in_bits(lowered, plan);
    EXPECT_FALSE(difference) << difference.value_or(Refutation{}).message;
  }
  EXPECT_NO_THROW(check_waits(lowered, make_schedule(lowered)));
  return lowered;
}

TEST(Lower, a_plan_that_needs_nothing_comes_back_equal) {
  for (const auto& name : test::registered_names())
    for (const int ranks : {1, 2, 5}) {
      const Plan plan = make_plan(name + ":slices=3", test::all_reduce(ranks));
      const Plan lowered = lower(plan, full_access(ranks));
      EXPECT_EQ(lowered.hash(), plan.hash()) << name;
      EXPECT_EQ(lowered.spec(), plan.spec());
    }
}

TEST(Lower, the_diagonal_of_the_matrix_does_not_matter) {
  AccessMatrix access = full_access(3);
  for (std::size_t rank = 0; rank < 3; ++rank) access[rank][rank] = Access::none;
  const Plan plan = make_plan("ring", test::all_reduce(3));
  EXPECT_TRUE(allowed(plan, access));
  EXPECT_EQ(lower(plan, access).hash(), plan.hash());
}

TEST(Lower, refuses_a_matrix_of_another_size) {
  const Plan plan = make_plan("ring", test::all_reduce(3));
  AccessMatrix ragged = full_access(3);
  ragged[1].pop_back();
  for (const auto& access : {full_access(2), ragged}) {
    EXPECT_THROW((void)lower(plan, access), Error);
    EXPECT_THROW((void)allowed(plan, access), Error);
  }
}

TEST(Lower, plain_copies_between_a_rank_and_another_stay_where_copies_are_allowed) {
  const Plan plan = hand_made(
      {Collective::broadcast, 2, 0}, {},
      {{0, 0, 1, {input(0, 0)}, {output(0, 0)}}, {1, 0, 1, {output(0, 0)}, {output(1, 0)}}});
  EXPECT_EQ(checked(plan, everywhere(2, Access::copy_only)).hash(), plan.hash());
  EXPECT_FALSE(allowed(plan, everywhere(2, Access::none)));
}

TEST(Lower, a_fold_fetches_sources_first_and_delivers_from_its_own_destination) {
  const Plan plan = hand_made(test::all_reduce(3), {},
                              {{0,
                                0,
                                1,
                                {input(0, 0), input(1, 0), input(2, 0)},
                                {output(1, 0), output(0, 0), output(2, 0)}}});
  const auto ops = test::ops_of(checked(plan, everywhere(3, Access::copy_only)));
  ASSERT_EQ(ops.size(), 5u);  // fetch 2, fold, deliver 2
  EXPECT_EQ(ops[2].destinations, std::vector<Location>{output(0, 0)});
  EXPECT_EQ(ops[3].sources, std::vector<Location>{output(0, 0)});
  EXPECT_EQ(ops[4].sources, std::vector<Location>{output(0, 0)});
}

TEST(Lower, a_fold_with_no_destination_of_its_own_delivers_one_temporary) {
  const Request broadcast{Collective::all_reduce, 3};
  const Plan plan = hand_made(broadcast, {},
                              {{0, 0, 1, {input(0, 0), input(1, 0)}, {output(1, 0), output(2, 0)}},
                               {2, 0, 1, {output(2, 0), input(2, 0)}, {output(2, 0)}},
                               {2, 0, 1, {output(2, 0)}, {output(1, 0), output(0, 0)}}});
  const Plan lowered = checked(plan, everywhere(3, Access::copy_only));
  EXPECT_EQ(lowered.size(), 4u + 1u + 2u);
  EXPECT_EQ(lowered.scratch(0).size(), 2u);  // rank 1's part, and the sum
  EXPECT_EQ(lowered.scratch(1).size() + lowered.scratch(2).size(), 0u);
}

TEST(Lower, a_multicast_becomes_copies_without_temporaries) {
  const Plan plan = hand_made(
      {Collective::broadcast, 4, 0}, {},
      {{0, 0, 1, {input(0, 0)}, {output(0, 0), output(1, 0), output(2, 0), output(3, 0)}}});
  const Plan lowered = checked(plan, everywhere(4, Access::copy_only));
  EXPECT_EQ(lowered.size(), 4u);
  EXPECT_FALSE(lowered.uses_scratch());
}

TEST(Lower, a_fetched_multicast_passes_through_the_ranks_own_destination) {
  const Plan plan = hand_made({Collective::broadcast, 3, 0}, {},
                              {{0, 0, 1, {input(0, 0)}, {output(0, 0)}},
                               {1, 0, 1, {input(0, 0)}, {output(2, 0), output(1, 0)}}});
  const auto lowered = checked(plan, everywhere(3, Access::copy_only));
  EXPECT_FALSE(lowered.uses_scratch());
  EXPECT_EQ(lowered.op(1).destinations.front(), output(1, 0));
  EXPECT_EQ(lowered.op(2).sources.front(), output(1, 0));
}

TEST(Lower, without_access_data_go_through_one_host_slot) {
  const Plan plan = hand_made(
      {Collective::broadcast, 4, 0}, {},
      {{0, 0, 1, {input(0, 0)}, {output(0, 0), output(1, 0), output(2, 0), output(3, 0)}}});
  const Plan lowered = checked(plan, everywhere(4, Access::none));
  EXPECT_EQ(lowered.size(), 4u);
  ASSERT_EQ(lowered.scratch(0).size(), 1u);
  EXPECT_EQ(lowered.scratch(0)[0].place, ScratchSlot::Place::host);
  for (std::size_t index = 1; index < 4; ++index)
    EXPECT_EQ(lowered.op(index).rank, static_cast<int>(index));  // owners fetch
}

TEST(Lower, what_lies_in_host_memory_is_staged_once_while_it_stays_right) {
  // naive of 3: two stagings with an addition each, then one staging for both fetches.
  const Plan plan = make_plan("naive", test::all_reduce(3));
  EXPECT_EQ(checked(plan, everywhere(3, Access::none)).size(), 2u + 2u + 1u + 2u);
  // In place the sum overwrites what was staged: it is staged again.
  const Plan twice = hand_made(test::all_reduce(2, true), {},
                               {{1, 0, 1, {input(0, 0), input(1, 0)}, {output(1, 0)}},
                                {0, 0, 1, {output(1, 0)}, {output(0, 0)}},
                                {1, 0, 1, {output(0, 0)}, {output(1, 0)}}});
  EXPECT_EQ(checked(twice, everywhere(2, Access::none)).size(), 6u);
}

TEST(Lower, scratch_at_the_host_is_within_everybodys_reach) {
  const Plan plan = hand_made({Collective::broadcast, 2, 0}, {},
                              {{0, 0, 1, {input(0, 0)}, {output(0, 0), scratch(1, 0, 0)}},
                               {1, 0, 1, {scratch(1, 0, 0)}, {output(1, 0)}}},
                              {{1, {0, 1, ScratchSlot::Place::host}}});
  EXPECT_TRUE(allowed(plan, everywhere(2, Access::none)));
  EXPECT_EQ(lower(plan, everywhere(2, Access::none)).hash(), plan.hash());
}

TEST(Lower, lanes_and_shape_are_kept) {
  const Plan plan = make_plan("ring:slices=4,lanes=2,depth=2", test::all_reduce(3));
  const Plan lowered = checked(plan, everywhere(3, Access::none));
  EXPECT_EQ(lowered.shape(), plan.shape());
  EXPECT_EQ(lowered.spec(), plan.spec());
}

TEST(Lower, every_algorithm_survives_any_machine) {
  std::mt19937_64 random(7);
  int plans = 0, changed = 0;
  for (const Request& request : test::requests_of({2, 3, 4, 5, 6, 7, 8, 9}))
    for (const auto& name : test::registered_names(request.collective))
      for (const std::string shape : {"", ":slices=5,lanes=3"}) {
        const auto plan = test::try_plan(name + shape, request);
        if (!plan) continue;
        SCOPED_TRACE(test::words(name + shape, request));
        const int ranks = request.ranks;
        for (int matrix = 0; matrix < 6; ++matrix) {
          AccessMatrix access = everywhere(ranks, matrix == 0   ? Access::none
                                                  : matrix == 1 ? Access::copy_only
                                                                : Access::direct);
          if (matrix > 1)
            for (auto& row : access)
              for (auto& entry : row) entry = static_cast<Access>(random() % 3);
          const Plan lowered = checked(*plan, access);
          EXPECT_EQ(lowered.hash() == plan->hash(), allowed(*plan, access));
          ++plans;
          changed += lowered.hash() != plan->hash() ? 1 : 0;
        }
      }
  std::printf("plans lowered: %d, of which changed: %d\n", plans, changed);
  EXPECT_GT(changed, 500);
}

// --- hosts ---------------------------------------------------------------------------------------

/// Ranks on hosts of `size`, which reach each other as `inside` says, and by messages otherwise.
AccessMatrix hosts_of(int ranks, int size, Access inside) {
  AccessMatrix access = everywhere(ranks, Access::message);
  for (int a = 0; a < ranks; ++a)
    for (int b = 0; b < ranks; ++b)
      if (a / size == b / size)
        access[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = inside;
  return access;
}

/// The plan with the ops of some ranks alone.
Plan only(const Plan& plan, const std::vector<bool>& ranks) {
  Plan part(plan.request(), plan.shape(), plan.spec());
  for (int rank = 0; rank < plan.ranks(); ++rank)
    for (const auto& slot : plan.scratch(rank)) part.add_slot(rank, slot);
  for (std::size_t index = 0; index < plan.size(); ++index)
    if (const Op op = plan.op(index); ranks[static_cast<std::size_t>(op.rank)]) part.append(op);
  return part;
}

/// The waits among the ranks of one host are those of a plan with their ops alone, and complete.
void check_host(const Plan& lowered, const std::vector<bool>& near) {
  const Plan part = only(lowered, near);
  const Schedule of_part = make_schedule(part);
  EXPECT_NO_THROW(check_waits(part, of_part));
  const Schedule of_all = make_schedule(lowered, near);
  int in_part = 0;
  for (int op = 0; op < static_cast<int>(lowered.size()); ++op) {
    const auto waits = of_all.waits(op);
    if (!near[static_cast<std::size_t>(lowered.op(static_cast<std::size_t>(op)).rank)]) {
      EXPECT_TRUE(waits.empty());
      continue;
    }
    const auto expected = of_part.waits(in_part++);
    EXPECT_TRUE(std::equal(waits.begin(), waits.end(), expected.begin(), expected.end()));
  }
  for (std::size_t rank = 0; rank < near.size(); ++rank)
    if (near[rank]) {
      EXPECT_EQ(of_all.leave_waits[rank], of_part.leave_waits[rank]);
    }
}

TEST(Lower, every_algorithm_survives_hosts_that_only_exchange_messages) {
  int plans = 0;
  for (const Request& request : test::requests_of({2, 3, 4, 6}))
    for (const auto& name : test::registered_names(request.collective))
      for (const std::string shape : {"", ":slices=5,lanes=2,depth=2"}) {
        const auto plan = test::try_plan(name + shape, request);
        if (!plan) continue;
        for (const Access inside :
             {Access::direct, Access::scratch_or_copy, Access::scratch_only}) {
          SCOPED_TRACE(test::words(name + shape, request));
          const int size = request.ranks < 4 ? 1 : 2;
          const Plan lowered = checked(*plan, hosts_of(request.ranks, size, inside));
          EXPECT_EQ(lowered.shape().lanes, plan->shape().lanes * lanes_with_messages);
          std::vector<bool> near(static_cast<std::size_t>(request.ranks));
          near[0] = near[static_cast<std::size_t>(size - 1)] = true;
          check_host(lowered, near);
          ++plans;
        }
      }
  EXPECT_GT(plans, 500);
}

TEST(Lower, a_copy_between_hosts_is_a_send_and_a_receive) {
  const Plan plan = hand_made(
      {Collective::broadcast, 2, 0}, {},
      {{0, 0, 1, {input(0, 0)}, {output(0, 0)}}, {1, 0, 1, {output(0, 0)}, {output(1, 0)}}});
  const Plan lowered = checked(plan, everywhere(2, Access::message));
  const auto ops = test::ops_of(lowered);
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[1].rank, 0);
  EXPECT_EQ(ops[1].lane, 1);
  EXPECT_TRUE(is_wire(lowered, ops[1].destinations.front()));
  EXPECT_EQ(ops[2].rank, 1);
  EXPECT_EQ(ops[2].lane, 2);
  EXPECT_EQ(ops[2].sources, ops[1].destinations);
}

TEST(Lower, scratch_in_reach_is_used_where_it_lies) {
  const Plan plan = hand_made(test::all_reduce(2), {},
                              {{1, 0, 1, {input(1, 0)}, {scratch(1, 0, 0)}},
                               {0, 0, 1, {input(0, 0), scratch(1, 0, 0)}, {output(0, 0)}},
                               {0, 0, 1, {output(0, 0)}, {output(1, 0)}}},
                              {{1, {0, 1, ScratchSlot::Place::device}}});
  EXPECT_EQ(checked(plan, everywhere(2, Access::scratch_or_copy)).hash(), plan.hash());
  EXPECT_EQ(checked(plan, everywhere(2, Access::scratch_only)).size(), 4u);
}

}  // namespace
}  // namespace ringside
