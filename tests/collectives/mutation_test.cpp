// SPDX-License-Identifier: MIT
/// Plans spoilt on purpose: the prover and the wait check must notice, and name the place.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <random>
#include <set>
#include <vector>

#include "plans_under_test.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside {
namespace {

using test::OwnedOp;
using Ops = std::vector<OwnedOp>;

constexpr int mutants_per_kind = 20;  // of one algorithm, ranks and placement
const std::vector<int> rank_counts = {2, 3, 4, 5, 6, 7, 8, 9, 16, 17};

class Random {
 public:
  /// 0 .. below - 1.
  std::size_t pick(std::size_t below) { return static_cast<std::size_t>(engine_() % below); }
  int other(int than, int below) {
    const auto distance = 1 + pick(static_cast<std::size_t>(below) - 1);
    return (than + static_cast<int>(distance)) % below;
  }
  template <class T>
  T& of(std::vector<T>& list) {
    return list[pick(list.size())];
  }

 private:
  std::mt19937_64 engine_{20240607};
};

/// Ops by the memory that they touch.
struct Access {
  std::size_t op;
  bool writes;
};

struct Original {
  explicit Original(const Plan& made)
      : plan(made), ops(test::ops_of(made)), cells(made), accesses(cells.size()) {
    for (std::size_t index = 0; index < ops.size(); ++index)
      for (const bool writes : {false, true})
        for (const auto& location : writes ? ops[index].destinations : ops[index].sources)
          for (int offset = 0; offset < ops[index].count; ++offset)
            accesses[cells.at(location, offset)].push_back({index, writes});
    for (std::size_t cell = 0; cell < accesses.size(); ++cell) {
      if (accesses[cell].size() > 1) shared.push_back(cell);
      if (cells.is_scratch(cell) && accesses[cell].size() > 1) scratch.push_back(cell);
    }
  }
  const Plan& plan;
  Ops ops;
  Cells cells;
  std::vector<std::vector<Access>> accesses;  // [cell]
  std::vector<std::size_t> shared, scratch;   // cells that several ops touch
};

using Mutation = bool (*)(Original&, Ops&, Random&);  // false: this plan has no place for it

bool drop(Original&, Ops& ops, Random& random) {
  ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(random.pick(ops.size())));
  return true;
}

bool swap_conflicting(Original& original, Ops& ops, Random& random) {
  if (original.shared.empty()) return false;
  for (int attempt = 0; attempt < 20; ++attempt) {
    auto& accesses = original.accesses[random.of(original.shared)];
    const Access a = random.of(accesses), b = random.of(accesses);
    if (a.op == b.op || !(a.writes || b.writes)) continue;
    std::swap(ops[a.op], ops[b.op]);
    return true;
  }
  return false;
}

template <std::vector<Location> OwnedOp::*side>
bool other_chunk(Original& original, Ops& ops, Random& random) {
  if (original.plan.chunks() < 2) return false;
  Location& location = random.of(random.of(ops).*side);
  location.chunk = random.other(location.chunk, original.plan.chunks());
  return true;
}

template <std::vector<Location> OwnedOp::*side>
bool other_rank(Original& original, Ops& ops, Random& random) {
  Location& location = random.of(random.of(ops).*side);
  location.rank = random.other(location.rank, original.plan.ranks());
  return true;
}

/// A well-formed op, but on other data.
bool whole_op_on_other_chunk(Original& original, Ops& ops, Random& random) {
  if (original.plan.chunks() < 2) return false;
  OwnedOp& op = random.of(ops);
  const int chunk = random.other(op.view().chunk(), original.plan.chunks());
  for (auto& location : op.sources) location.chunk = chunk;
  for (auto& location : op.destinations) location.chunk = chunk;
  return true;
}

bool duplicate_source(Original&, Ops& ops, Random& random) {
  OwnedOp& op = random.of(ops);
  op.sources.push_back(random.of(op.sources));
  return true;
}

bool source_instead_of_other(Original&, Ops& ops, Random& random) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    OwnedOp& op = random.of(ops);
    if (op.sources.size() < 2) continue;
    const auto a = random.pick(op.sources.size());
    const auto b = static_cast<std::size_t>(
        random.other(static_cast<int>(a), static_cast<int>(op.sources.size())));
    op.sources[a] = op.sources[b];
    return true;
  }
  return false;
}

bool scratch_never_written(Original& original, Ops& ops, Random& random) {
  if (original.scratch.empty()) return false;
  const auto first = original.accesses[random.of(original.scratch)].front().op;
  ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(first));
  return true;
}

bool scratch_read_early(Original& original, Ops& ops, Random& random) {
  if (original.scratch.empty()) return false;
  const auto& accesses = original.accesses[random.of(original.scratch)];
  const auto read = std::find_if(accesses.begin(), accesses.end(),
                                 [](const Access& access) { return !access.writes; });
  if (read == accesses.end() || read->op == accesses.front().op) return false;
  OwnedOp moved = ops[read->op];
  ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(read->op));
  ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(accesses.front().op), std::move(moved));
  return true;
}

/// What became of the mutants of a kind. The last two are right plans, of another order of
/// additions: with and without another proof fact.
struct Kind {
  const char* name;
  Mutation mutate;
  int made = 0, refuted = 0, ranks_differ = 0, equivalent = 0, facts_differ = 0, other_order = 0;
};

std::vector<Kind> all_kinds() {
  return {{"one op dropped", drop},
          {"two conflicting ops swapped", swap_conflicting},
          {"a source of another chunk", other_chunk<&OwnedOp::sources>},
          {"a source of another rank", other_rank<&OwnedOp::sources>},
          {"a destination of another chunk", other_chunk<&OwnedOp::destinations>},
          {"a destination of another rank", other_rank<&OwnedOp::destinations>},
          {"a whole op on another chunk", whole_op_on_other_chunk},
          {"a source read once more", duplicate_source},
          {"a source instead of another", source_instead_of_other},
          {"scratch never written", scratch_never_written},
          {"scratch read before written", scratch_read_early}};
}

bool names_the_place(const std::string& message) {
  return message.find("op ") != std::string::npos && message.find("rank ") != std::string::npos &&
         message.find("chunk ") != std::string::npos;
}

void judge(Kind& kind, const Plan& original, const Plan& mutant, const ProofFacts& facts) {
  ++kind.made;
  const Proof proof = prove(mutant);
  if (proof.refuted) {
    EXPECT_TRUE(names_the_place(proof.refuted->message)) << proof.refuted->message;
    ++kind.refuted;
    return;
  }
  if (proof.difference) {
    EXPECT_TRUE(names_the_place(proof.difference->message)) << proof.difference->message;
    ++kind.ranks_differ;
    return;
  }
  const auto difference = difference_in_bits(mutant, original);
  if (!difference) {
    EXPECT_EQ(proof.facts, facts);
    ++kind.equivalent;
    return;
  }
  // Right, the same on all ranks, and yet another plan than was written: told by comparison.
  EXPECT_TRUE(names_the_place(difference->message)) << difference->message;
  ++(proof.facts == facts ? kind.other_order : kind.facts_differ);
}

TEST(Mutation, every_mutant_of_every_algorithm_is_rejected_or_computes_the_same) {
  auto kinds = all_kinds();
  Random random;
  for (const Request& request : test::requests_of(rank_counts, 1))
    for (const auto& name : test::registered_names(request.collective)) {
      const auto plan = test::try_plan(name, request);
      if (!plan) continue;
      const Proof proof = require_proof(*plan, true);
      Original original(*plan);
      for (Kind& kind : kinds)
        for (int i = 0; i < mutants_per_kind; ++i) {
          Ops ops = original.ops;
          if (!kind.mutate(original, ops, random)) continue;
          SCOPED_TRACE(test::words(name, request) + ": " + kind.name);
          judge(kind, *plan, test::with_ops(*plan, ops), proof.facts);
        }
    }
  std::printf("%-30s %6s %8s %13s %11s %13s %12s\n", "mutants", "made", "refuted", "ranks differ",
              "equivalent", "facts differ", "other order");
  for (const Kind& kind : kinds) {
    std::printf("%-30s %6d %8d %13d %11d %13d %12d\n", kind.name, kind.made, kind.refuted,
                kind.ranks_differ, kind.equivalent, kind.facts_differ, kind.other_order);
    EXPECT_GT(kind.refuted, 0) << kind.name;
    if (kind.mutate == swap_conflicting) continue;  // alone can change the order of additions
    EXPECT_EQ(kind.facts_differ + kind.other_order, 0) << kind.name;
  }
}

/// The schedule without one wait of one op.
Schedule without(const Schedule& schedule, std::size_t wait) {
  Schedule result = schedule;
  result.wait_list.erase(result.wait_list.begin() + static_cast<std::ptrdiff_t>(wait));
  for (auto& begin : result.wait_begin)
    if (begin > wait) --begin;
  return result;
}

bool found(const Plan& plan, const Schedule& schedule) {
  try {
    check_waits(plan, schedule);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    EXPECT_NE(std::string(error.what()).find("op "), std::string::npos) << error.what();
    return true;
  }
}

TEST(Mutation, no_wait_of_any_schedule_can_be_left_out_unnoticed) {
  int dropped = 0, silent = 0, leaves = 0, silent_leaves = 0;
  for (const Request& request : test::requests_of({2, 3, 4, 5, 8, 9}))
    for (const auto& name : test::registered_names(request.collective))
      for (const std::string shape :
           {":slices=1", ":slices=6", ":slices=5,lanes=1,depth=1", ":slices=7,lanes=3,depth=3"}) {
        const auto plan = test::try_plan(name + shape, request);
        if (!plan) continue;
        SCOPED_TRACE(test::words(name + shape, request));
        const Schedule schedule = make_schedule(*plan);
        ASSERT_NO_THROW(check_waits(*plan, schedule));
        // All of a small plan, a spread of a large one.
        const std::size_t step = 1 + schedule.wait_list.size() / 40;
        for (std::size_t wait = 0; wait < schedule.wait_list.size(); wait += step) {
          ++dropped;
          if (found(*plan, without(schedule, wait))) continue;
          ++silent;
          const Wait& idle = schedule.wait_list[wait];
          ADD_FAILURE() << "needless: stream " << idle.stream << ", position " << idle.position
                        << ", lag " << idle.lag;
        }
        for (std::size_t rank = 0; rank < schedule.leave_waits.size(); ++rank)
          for (std::size_t i = 0; i < schedule.leave_waits[rank].size(); ++i) {
            Schedule spoilt = schedule;
            auto& waits = spoilt.leave_waits[rank];
            waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(i));
            ++leaves;
            if (!found(*plan, spoilt)) ++silent_leaves;
          }
      }
  std::printf("waits dropped: %d, unnoticed %d; of leaves: %d, unnoticed %d\n", dropped, silent,
              leaves, silent_leaves);
  EXPECT_GT(dropped, 1000);
  EXPECT_GT(leaves, 100);
  EXPECT_EQ(silent_leaves, 0);
}

}  // namespace
}  // namespace ringside
