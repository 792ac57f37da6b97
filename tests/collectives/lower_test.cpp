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

}  // namespace
}  // namespace ringside
