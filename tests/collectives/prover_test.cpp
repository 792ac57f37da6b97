// SPDX-License-Identifier: MIT
/// Right plans are proven with their facts; each kind of fault is refuted, and the blame is right.
#include "ringside/collectives/prover.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "plans_under_test.hpp"
#include "ringside/collectives/symbols.hpp"

namespace ringside {
namespace {

using test::hand_made;
using test::input;
using test::output;
using test::OwnedOp;
using test::scratch;

OwnedOp op(int rank, std::vector<Location> sources, std::vector<Location> destinations,
           int count = 1) {
  return {rank, 0, count, std::move(sources), std::move(destinations)};
}

Plan all_reduce_plan(int ranks, const std::vector<OwnedOp>& ops, bool in_place = false) {
  return hand_made(test::all_reduce(ranks, in_place), {}, ops);
}

/// The refutation of a plan that must be wrong.
Refutation refutation(const Plan& plan) {
  const Proof proof = prove(plan);
  EXPECT_FALSE(proof.holds());
  return proof.refuted.value_or(Refutation{"(proven)"});
}

TEST(Expressions, swapping_the_first_two_operands_changes_nothing_else_does) {
  Expressions e(4);
  const auto fold = [&](std::vector<Expressions::Id> ids) { return e.fold(ids); };
  EXPECT_EQ(fold({0, 1}), fold({1, 0}));
  EXPECT_EQ(fold({fold({0, 1}), 2}), fold({2, fold({1, 0})}));
  EXPECT_EQ(fold({1, 0, 2}), fold({0, 1, 2}));
  EXPECT_NE(fold({0, 2, 1}), fold({0, 1, 2}));
  EXPECT_NE(fold({fold({0, 1}), 2}), fold({0, 1, 2}));  // rounds in between
  EXPECT_NE(fold({fold({0, 1}), 2}), fold({fold({1, 2}), 0}));
  EXPECT_EQ(fold({3}), e.leaf(3));
}

TEST(Expressions, know_their_ranks_and_order) {
  Expressions e(70);  // more than one word of ranks
  std::vector<Expressions::Id> all;
  for (int rank = 0; rank < 70; ++rank) all.push_back(e.leaf(rank));
  const auto whole = e.fold(all);
  EXPECT_EQ(e.contributors(whole), 70);
  EXPECT_EQ(e.in_rank_order(whole), 70);
  EXPECT_TRUE(e.rounds_once(whole));
  EXPECT_FALSE(e.repeated(whole));

  const auto twice = e.fold(std::vector{whole, e.leaf(66)});
  EXPECT_EQ(e.repeated(twice), 66);
  EXPECT_EQ(e.in_rank_order(twice), 0);
  EXPECT_FALSE(e.rounds_once(twice));

  const auto first = e.fold(std::vector{e.leaf(1), e.leaf(0)});
  const auto chain = e.fold(std::vector{e.leaf(2), first});
  EXPECT_EQ(e.in_rank_order(chain), 3);
  EXPECT_EQ(e.in_rank_order(e.fold(std::vector{e.leaf(1), e.leaf(2)})), 0);
  EXPECT_TRUE(e.contains(chain, 2));
  EXPECT_FALSE(e.contains(chain, 66));
  EXPECT_EQ(e.text(chain), "(2+(0+1))");
  EXPECT_EQ(e.text(whole, 10), "(0+1+2+3+4...");
  EXPECT_EQ(e.text(Expressions::nothing), "nothing");
}

TEST(Prover, accepts_a_right_plan_and_knows_its_facts) {
  const Plan plan = all_reduce_plan(2, {op(0, {input(0, 0), input(1, 0)}, {output(0, 0)}),
                                        op(1, {output(0, 0)}, {output(1, 0)})});
  const Proof proof = prove(plan);
  EXPECT_TRUE(proof.holds());
  EXPECT_EQ(proof.facts, (ProofFacts{true, true, true, true}));
  EXPECT_FALSE(proof.difference);
  EXPECT_NO_THROW(require_proof(plan, true));
}

TEST(Prover, every_algorithm_is_right_and_gives_all_ranks_the_same_bits) {
  int plans = 0;
  for (const auto& name : test::registered_names())
    for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 64})
      for (const bool in_place : {false, true}) {
        const auto plan = test::try_plan(name, test::all_reduce(ranks, in_place));
        if (!plan) continue;
        EXPECT_NO_THROW(require_proof(*plan, true)) << name << " of " << ranks << " ranks";
        ++plans;
      }
  EXPECT_GT(plans, 100);
}

TEST(Prover, facts_are_those_that_the_algorithms_document) {
  const auto facts = [](std::string_view spec) {
    return require_proof(make_plan(spec, test::all_reduce(8)), true).facts;
  };
  //                                           rank order, one rounding, uniform, same on all ranks
  EXPECT_EQ(facts("naive"), (ProofFacts{true, false, true, true}));
  EXPECT_EQ(facts("chain"), (ProofFacts{true, false, true, true}));
  EXPECT_EQ(facts("binomial"), (ProofFacts{false, false, true, true}));
  EXPECT_EQ(facts("recursive_doubling"), (ProofFacts{false, false, true, true}));
  EXPECT_EQ(facts("halving_doubling"), (ProofFacts{false, false, true, true}));
  EXPECT_EQ(facts("one_shot"), (ProofFacts{true, true, true, true}));
  EXPECT_EQ(facts("two_shot"), (ProofFacts{true, true, true, true}));
  EXPECT_EQ(facts("ring"), (ProofFacts{false, false, false, true}));
  EXPECT_EQ(facts("bidirectional_ring"), (ProofFacts{false, false, false, true}));
}

TEST(Prover, names_the_ranks_whose_contributions_are_missing) {
  const auto refuted = refutation(all_reduce_plan(
      4, {op(0, {input(0, 0), input(2, 0)}, {output(0, 0)}),
          op(0, {output(0, 0)}, {output(0, 0), output(1, 0), output(2, 0), output(3, 0)})}));
  EXPECT_EQ(refuted.op, 1u);
  EXPECT_EQ(refuted.rank, 0);
  EXPECT_EQ(refuted.chunk, 0);
  EXPECT_NE(refuted.message.find("without the contribution of ranks 1, 3"), std::string::npos)
      << refuted.message;
}

TEST(Prover, blames_the_op_that_first_adds_a_contribution_twice) {
  const auto refuted =
      refutation(all_reduce_plan(2, {op(0, {input(0, 0), input(1, 0)}, {output(0, 0)}),
                                     op(0, {output(0, 0), input(1, 0)}, {output(0, 0)}),
                                     op(1, {output(0, 0)}, {output(1, 0)})}));
  EXPECT_EQ(refuted.op, 1u);
  EXPECT_NE(refuted.message.find("adds the contribution of rank 1 to chunk 0 a second time"),
            std::string::npos)
      << refuted.message;
}

TEST(Prover, a_wrong_value_that_nobody_needs_is_no_mistake) {
  EXPECT_TRUE(
      prove(all_reduce_plan(2, {op(0, {input(0, 0), input(0, 0)}, {output(1, 0)}),
                                op(0, {input(0, 0), input(1, 0)}, {output(0, 0), output(1, 0)})}))
          .holds());
}

TEST(Prover, refuses_to_read_what_nothing_has_written) {
  const auto output_read =
      refutation(all_reduce_plan(2, {op(0, {output(0, 0), input(1, 0)}, {output(0, 0)})}));
  EXPECT_EQ(output_read.op, 0u);
  EXPECT_NE(output_read.message.find("reads output[0] of rank 0 (chunk 0)"), std::string::npos)
      << output_read.message;
  const auto scratch_read = refutation(
      hand_made(test::all_reduce(2), {.chunks_per_block = 3},
                {op(1, {scratch(1, 0, 2), input(1, 2)}, {output(1, 2)})}, {{1, {0, 3}}}));
  EXPECT_EQ(scratch_read.chunk, 2);
  EXPECT_NE(scratch_read.message.find("reads scratch 0[2] of rank 1 (chunk 2), which nothing"),
            std::string::npos)
      << scratch_read.message;
}

TEST(Prover, inputs_stay_intact_where_there_is_no_output) {
  const std::vector<OwnedOp> ops = {op(0, {input(0, 0), input(1, 0)}, {input(0, 0)}),
                                    op(0, {input(0, 0)}, {output(0, 0), output(1, 0)})};
  const auto refuted = refutation(all_reduce_plan(2, ops));
  EXPECT_EQ(refuted.op, 0u);
  EXPECT_NE(refuted.message.find("stores to input[0] of rank 0 (chunk 0)"), std::string::npos);
  EXPECT_TRUE(prove(all_reduce_plan(2, ops, true)).holds());  // in place it is the output

  const Request reduce{Collective::reduce, 2, 0, true};
  EXPECT_TRUE(
      prove(hand_made(reduce, {}, {op(0, {input(0, 0), input(1, 0)}, {output(0, 0)})})).holds());
  EXPECT_FALSE(prove(hand_made(reduce, {},
                               {op(1, {input(0, 0), input(1, 0)}, {input(1, 0)}),
                                op(0, {input(1, 0)}, {output(0, 0)})}))
                   .holds());
}

TEST(Prover, placement_decides_when_an_input_is_read_after_its_output_was_stored) {
  const std::vector<OwnedOp> ops = {op(0, {input(0, 0), input(1, 0)}, {output(0, 0)}),
                                    op(1, {input(0, 0), input(1, 0)}, {output(1, 0)})};
  EXPECT_TRUE(prove(all_reduce_plan(2, ops)).holds());
  const auto refuted = refutation(all_reduce_plan(2, ops, true));
  EXPECT_EQ(refuted.op, 1u);
}

TEST(Prover, an_output_that_nothing_stores_is_named) {
  const auto refuted =
      refutation(all_reduce_plan(2, {op(0, {input(0, 0), input(1, 0)}, {output(0, 0)})}));
  EXPECT_EQ(refuted.rank, 1);
  EXPECT_NE(refuted.message.find("no op stores output[0] of rank 1 (chunk 0)"), std::string::npos);
  EXPECT_NE(refutation(all_reduce_plan(2, {})).message.find("none works on that chunk"),
            std::string::npos);
}

TEST(Prover, what_is_not_well_formed_is_refuted_not_thrown) {
  const auto refuted = refutation(all_reduce_plan(2, {op(0, {input(0, 7)}, {output(0, 7)})}));
  EXPECT_EQ(refuted.op, 0u);
  EXPECT_EQ(refuted.chunk, 7);
  EXPECT_NE(refuted.message.find("op 0 (rank 0, chunk 7)"), std::string::npos) << refuted.message;
  EXPECT_FALSE(prove(all_reduce_plan(2, {op(0, {}, {output(0, 0)})})).holds());
  EXPECT_FALSE(prove(all_reduce_plan(2, {op(0, {input(5, 0)}, {output(0, 0)})})).holds());
  EXPECT_FALSE(prove(all_reduce_plan(2, {op(0, {scratch(0, 0, 0)}, {output(0, 0)})})).holds());
  EXPECT_FALSE(prove(all_reduce_plan(3, {op(2, {input(1, 0)}, {output(0, 0)})})).holds());
}

TEST(Prover, different_bits_on_two_ranks_are_reported_and_refused_of_our_own) {
  const Plan plan =
      all_reduce_plan(3, {op(0, {input(0, 0), input(1, 0), input(2, 0)}, {output(0, 0)}),
                          op(1, {input(1, 0), input(0, 0), input(2, 0)}, {output(1, 0)}),
                          op(2, {input(2, 0), input(1, 0), input(0, 0)}, {output(2, 0)})});
  const Proof proof = require_proof(plan, false);
  EXPECT_FALSE(proof.facts.same_on_all_ranks);
  EXPECT_FALSE(proof.facts.rank_order);
  EXPECT_TRUE(proof.facts.one_rounding);
  EXPECT_FALSE(proof.facts.is_definition());
  ASSERT_TRUE(proof.difference);
  EXPECT_EQ(proof.difference->op, 2u);
  EXPECT_EQ(proof.difference->rank, 2);
  EXPECT_NE(proof.difference->message.find("with (1+2+0), not (0+1+2) as output[0] of rank 0"),
            std::string::npos)
      << proof.difference->message;
  try {
    require_proof(plan, true);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_EQ(error.rank(), 2);
    EXPECT_EQ(error.step(), 2);
  }
}

TEST(Prover, other_collectives_are_held_to_their_own_contract) {
  const Request gather{Collective::all_gather, 2};
  const std::vector<OwnedOp> right = {op(0, {input(0, 0)}, {output(0, 0), output(1, 0)}),
                                      op(1, {input(1, 1)}, {output(0, 1), output(1, 1)})};
  const Proof proof = prove(hand_made(gather, {}, right));
  EXPECT_TRUE(proof.holds());
  EXPECT_EQ(proof.facts, (ProofFacts{true, true, true, true}));
  EXPECT_TRUE(proof.facts.is_definition());
  EXPECT_FALSE(prove(hand_made(gather, {}, {right[0]})).holds());

  const Request scatter{Collective::reduce_scatter, 2};
  const std::vector<OwnedOp> sums = {op(0, {input(0, 0), input(1, 0)}, {output(0, 0)}),
                                     op(1, {input(0, 1), input(1, 1)}, {output(1, 1)})};
  EXPECT_TRUE(prove(hand_made(scatter, {}, sums)).holds());

  const Request broadcast{Collective::broadcast, 2, 1};
  EXPECT_TRUE(prove(hand_made(broadcast, {}, {op(1, {input(1, 0)}, {output(0, 0), output(1, 0)})}))
                  .holds());
  // The root's output out of place is demanded too.
  EXPECT_EQ(refutation(hand_made(broadcast, {}, {op(1, {input(1, 0)}, {output(0, 0)})})).rank, 1);

  const Request exchange{Collective::all_to_all, 2};
  std::vector<OwnedOp> moves;
  for (int from = 0; from < 2; ++from)
    for (int to = 0; to < 2; ++to)
      moves.push_back(op(from, {input(from, from * 2 + to)}, {output(to, from * 2 + to)}));
  EXPECT_TRUE(prove(hand_made(exchange, {}, moves)).holds());

  EXPECT_TRUE(prove(hand_made({Collective::barrier, 4}, {}, {})).holds());
}

TEST(Prover, a_copy_collective_refuses_sums_and_other_ranks_data) {
  const Request broadcast{Collective::broadcast, 2, 0, true};
  const auto sum = hand_made(
      broadcast, {},
      {op(1, {input(0, 0)}, {output(1, 0)}), op(0, {input(0, 0), output(1, 0)}, {output(0, 0)})});
  EXPECT_NE(refutation(sum).message.find("not the data of rank 0"), std::string::npos);
}

TEST(Prover, chunks_of_one_op_are_judged_one_by_one) {
  const Shape shape{.chunks_per_block = 3};
  const std::vector<OwnedOp> ops = {
      op(0, {input(0, 0), input(1, 0)}, {output(0, 0), output(1, 0)}, 3),
      op(1, {input(1, 1)}, {output(1, 1)})};
  const auto refuted = refutation(hand_made(test::all_reduce(2), shape, ops));
  EXPECT_EQ(refuted.rank, 1);
  EXPECT_EQ(refuted.chunk, 1);
  EXPECT_EQ(refuted.op, 1u);
}

TEST(Prover, difference_in_bits_compares_expressions_not_ops) {
  const std::vector<OwnedOp> pulled = {op(0, {input(0, 0), input(1, 0)}, {output(0, 0)}),
                                       op(1, {output(0, 0)}, {output(1, 0)})};
  const std::vector<OwnedOp> swapped = {
      op(1, {input(1, 0), input(0, 0)}, {output(1, 0), output(0, 0)})};
  EXPECT_FALSE(difference_in_bits(all_reduce_plan(2, pulled), all_reduce_plan(2, swapped)));

  const Plan naive = make_plan("naive", test::all_reduce(4));
  const Plan tree = make_plan("binomial", test::all_reduce(4));
  const auto difference = difference_in_bits(tree, naive);
  ASSERT_TRUE(difference);
  EXPECT_NE(difference->message.find("(chunk 0) with ((0+1)+(2+3)), not (3+(2+(0+1)))"),
            std::string::npos)
      << difference->message;
  EXPECT_THROW((void)difference_in_bits(naive, make_plan("ring", test::all_reduce(4))), Error);
}

TEST(Prover, is_quick_for_256_ranks_and_refuses_more) {
  const auto begin = std::chrono::steady_clock::now();
  for (const auto* spec : {"ring", "one_shot", "two_shot"})
    EXPECT_TRUE(prove(make_plan(spec, test::all_reduce(max_proven_ranks))).holds()) << spec;
  // Seconds are promised; the bound is there to notice something quadratic, on any machine.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(2));
  try {
    (void)prove(make_plan("naive", test::all_reduce(max_proven_ranks + 1)));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
  }
}

TEST(Prover, a_plan_too_large_for_memory_is_refused_before_it_is_tried) {
  const Plan plan(test::all_reduce(256), {.chunks_per_block = 1 << 28}, "huge");
  EXPECT_THROW((void)prove(plan), Error);
}

}  // namespace
}  // namespace ringside
