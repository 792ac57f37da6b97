// SPDX-License-Identifier: MIT
/// The wait check accepts derived schedules and notices every wait that is missing.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plans_under_test.hpp"
#include "ringside/collectives/dependencies.hpp"

namespace ringside {
namespace {

using test::hand_made;
using test::input;
using test::output;
using test::scratch;

/// A schedule with the queues of the plan and the given waits, a list for each op.
Schedule schedule_of(const Plan& plan, const std::vector<std::vector<Wait>>& waits,
                     std::vector<std::vector<Wait>> leave_waits) {
  Schedule schedule;
  schedule.ranks = plan.ranks();
  schedule.lanes = plan.shape().lanes;
  schedule.streams.resize(static_cast<std::size_t>(schedule.ranks * schedule.lanes));
  schedule.leave_waits = std::move(leave_waits);
  schedule.wait_begin.push_back(0);
  for (std::size_t index = 0; index < plan.size(); ++index) {
    const Op op = plan.op(index);
    const int stream = op.rank * schedule.lanes + op.lane;
    auto& queue = schedule.streams[static_cast<std::size_t>(stream)];
    schedule.stream_of.push_back(stream);
    schedule.position_of.push_back(static_cast<int>(queue.size()));
    queue.push_back(static_cast<int>(index));
    schedule.wait_list.insert(schedule.wait_list.end(), waits[index].begin(), waits[index].end());
    schedule.wait_begin.push_back(static_cast<std::uint32_t>(schedule.wait_list.size()));
  }
  return schedule;
}

/// What check_waits says; empty if it is content.
std::string verdict(const Plan& plan, const Schedule& schedule) {
  try {
    check_waits(plan, schedule);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    return error.what();
  }
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Rank 0 adds, rank 1 fetches the sum.
Plan add_and_fetch() {
  return hand_made(test::all_reduce(2), {},
                   {{0, 0, 1, {input(0, 0), input(1, 0)}, {output(0, 0)}},
                    {1, 0, 1, {output(0, 0)}, {output(1, 0)}}});
}
const Wait first_op_of_rank_0{0, 0, 0};
const Wait first_op_of_rank_1{1, 0, 0};

TEST(WaitCheck, accepts_waits_that_order_every_conflict) {
  EXPECT_EQ(verdict(add_and_fetch(), schedule_of(add_and_fetch(), {{}, {first_op_of_rank_0}},
                                                 {{first_op_of_rank_1}, {}})),
            "");
}

TEST(WaitCheck, names_both_ops_that_nothing_orders) {
  const auto said =
      verdict(add_and_fetch(), schedule_of(add_and_fetch(), {{}, {}}, {{first_op_of_rank_1}, {}}));
  EXPECT_TRUE(says(said, "op 0 (rank 0")) << said;
  EXPECT_TRUE(says(said, "op 1 (rank 1")) << said;
  EXPECT_TRUE(says(said, "both use output[0] of rank 0")) << said;
}

TEST(WaitCheck, a_leave_must_come_after_others_ops_on_the_ranks_buffers) {
  const auto said =
      verdict(add_and_fetch(), schedule_of(add_and_fetch(), {{}, {first_op_of_rank_0}}, {{}, {}}));
  EXPECT_TRUE(says(said, "rank 0 may leave before op 1")) << said;
}

TEST(WaitCheck, a_wait_for_a_later_op_is_refused) {
  const auto said =
      verdict(add_and_fetch(), schedule_of(add_and_fetch(), {{first_op_of_rank_1}, {}}, {{}, {}}));
  EXPECT_TRUE(says(said, "which is not before it")) << said;
}

TEST(WaitCheck, a_wait_for_nothing_and_wrong_queues_are_refused) {
  const Plan plan = add_and_fetch();
  EXPECT_TRUE(says(verdict(plan, schedule_of(plan, {{}, {Wait{0, 5, 0}}}, {{}, {}})), "none"));
  EXPECT_TRUE(says(verdict(plan, schedule_of(plan, {{}, {Wait{9, 0, 0}}}, {{}, {}})), "none"));
  const Schedule good = schedule_of(plan, {{}, {first_op_of_rank_0}}, {{first_op_of_rank_1}, {}});
  Schedule twice = good;
  twice.streams[0].push_back(0);
  EXPECT_NE(verdict(plan, twice), "");
  Schedule moved = good;
  std::swap(moved.streams[0], moved.streams[1]);
  EXPECT_NE(verdict(plan, moved), "");
  Schedule other = good;
  other.ranks = 3;
  EXPECT_TRUE(says(verdict(plan, other), "not of this plan"));
}

TEST(WaitCheck, waits_imply_others_through_other_ranks) {
  // 0 -> 1 -> 2: rank 2 reads what rank 0 stored, and waits for rank 1 only.
  const Plan plan = hand_made({Collective::broadcast, 3, 0}, {},
                              {{0, 0, 1, {input(0, 0)}, {output(0, 0)}},
                               {1, 0, 1, {output(0, 0)}, {output(1, 0)}},
                               {2, 0, 1, {output(0, 0)}, {output(2, 0)}},
                               {2, 0, 1, {output(1, 0)}, {output(2, 0)}}});
  const Wait zero{0, 0, 0}, one{1, 0, 0}, two{2, 1, 0};
  EXPECT_EQ(verdict(plan, schedule_of(plan, {{}, {zero}, {one}, {}}, {{two}, {two}, {}})), "");
  EXPECT_NE(verdict(plan, schedule_of(plan, {{}, {zero}, {zero}, {}}, {{two}, {two}, {}})), "");
}

/// Rank 0 pushes to scratch of rank 1, which stores it: slice after slice.
Plan through_scratch(int slices, int depth) {
  return hand_made({Collective::broadcast, 2, 0}, {.slices = slices, .depth = depth},
                   {{0, 0, 1, {input(0, 0)}, {scratch(1, 0, 0), output(0, 0)}},
                    {1, 0, 1, {scratch(1, 0, 0)}, {output(1, 0)}}},
                   {{1, {0, 1}}});
}

TEST(WaitCheck, reused_scratch_needs_a_wait_from_depth_slices_before) {
  for (const int depth : {1, 2, 3}) {
    const Plan plan = through_scratch(8, depth);
    const auto with_lag = [&](int lag) {
      return verdict(plan, schedule_of(plan, {{Wait{1, 0, lag}}, {first_op_of_rank_0}}, {{}, {}}));
    };
    EXPECT_EQ(with_lag(depth), "") << depth;
    if (depth > 1) {
      EXPECT_EQ(with_lag(1), "") << depth;  // stricter than need be
    }
    const auto said = with_lag(depth + 1);
    EXPECT_TRUE(says(said, "op 1 (rank 1")) << said;
    EXPECT_TRUE(says(said, "of slice 0 before op 0")) << said;
    EXPECT_TRUE(says(said, "of slice " + std::to_string(depth))) << said;
  }
  // As many places as slices: nothing is reused.
  const Plan roomy = through_scratch(3, 3);
  EXPECT_EQ(verdict(roomy, schedule_of(roomy, {{}, {first_op_of_rank_0}}, {{}, {}})), "");
}

TEST(WaitCheck, placement_aliases_inputs_and_outputs) {
  const std::vector<test::OwnedOp> ops = {{0, 0, 1, {input(0, 0), input(1, 0)}, {output(0, 0)}},
                                          {1, 0, 1, {input(0, 0)}, {output(1, 0)}}};
  const Plan apart = hand_made(test::all_reduce(2), {}, ops);
  EXPECT_EQ(
      verdict(apart, schedule_of(apart, {{}, {}}, {{first_op_of_rank_1}, {first_op_of_rank_0}})),
      "");
  const Plan aliased = hand_made(test::all_reduce(2, true), {}, ops);
  EXPECT_TRUE(says(verdict(aliased, schedule_of(aliased, {{}, {}},
                                                {{first_op_of_rank_1}, {first_op_of_rank_0}})),
                   "nothing orders op 0"));
}

TEST(WaitCheck, proves_the_derived_waits_of_every_algorithm) {
  int plans = 0;
  for (const Request& request : test::requests_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17}))
    for (const auto& name : test::registered_names(request.collective))
      for (const std::string shape :
           {":slices=1", ":slices=1,lanes=4", ":slices=16", ":slices=16,lanes=4,depth=4",
            ":slices=5,lanes=1,depth=1", ":slices=8,lanes=16,depth=3"}) {
        const auto plan = test::try_plan(name + shape, request);
        if (!plan) continue;
        EXPECT_EQ(verdict(*plan, make_schedule(*plan)), "") << test::words(name + shape, request);
        ++plans;
      }
  EXPECT_GT(plans, 1000);
}

TEST(WaitCheck, copes_with_64_ranks_of_16_lanes) {
  const Plan plan = make_plan("ring:slices=8,lanes=16", test::all_reduce(64));
  EXPECT_EQ(verdict(plan, make_schedule(plan)), "");
}

}  // namespace
}  // namespace ringside
