// SPDX-License-Identifier: MIT
#include "ringside/collectives/prover.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/symbols.hpp"

namespace ringside {
namespace {

using Id = Expressions::Id;

/// Calls `visit` with the location of every chunk that the collective demands, rank by rank, until
/// it returns a fault.
template <class Visit>
std::optional<Fault> for_each_output(const Plan& plan, Visit visit) {
  const int chunks_per_block = plan.shape().chunks_per_block;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const auto blocks = blocks_in(plan.request(), rank, Buffer::output);
    for (int i = 0; i < blocks.count; ++i) {
      const int first = blocks.block(i) * chunks_per_block;
      for (int chunk = first; chunk < first + chunks_per_block; ++chunk)
        if (std::optional<Fault> fault = visit(Location{rank, Buffer::output, 0, chunk}))
          return fault;
    }
  }
  return std::nullopt;
}

/// "rank 2", "ranks 2, 3, 5", or how many where they are too many to list.
std::string name_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t listed = 8;
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  if (ranks.size() > listed)
    return fmt::format("{} ranks (the first is rank {})", ranks.size(), ranks.front());
  return fmt::format("ranks {}", fmt::join(ranks, ", "));
}

Fault blame(const Location& output, std::optional<std::size_t> op, std::string message) {
  return {std::move(message), op, output.rank, output.chunk};
}

Error error_of(const Plan& plan, const Fault& fault) {
  Error error(ErrorCode::bad_input, fmt::format("the plan '{}' of {} ranks is wrong: {}",
                                                plan.spec(), plan.ranks(), fault.message));
  error.at_rank(fault.rank);
  if (fault.op) error.at_step(static_cast<int>(*fault.op));
  return error;
}

/// The output holds what it held at the beginning, if anything.
Fault never_stored(const Plan& plan, const Location& output) {
  std::optional<std::size_t> last;
  for (std::size_t index = plan.size(); index-- > 0 && !last;) {
    const Op op = plan.op(index);
    if (op.chunk() <= output.chunk && output.chunk < op.chunk() + op.count) last = index;
  }
  return blame(output, last,
               fmt::format("no op stores {} (chunk {}); {}", describe(output), output.chunk,
                           last ? "the last on that chunk is " + describe(plan, *last)
                                : "none works on that chunk"));
}

/// Whether an output holds what the collective demands.
std::optional<Fault> fault_of_output(const Plan& plan, const Expressions& expressions,
                                     const SymbolicRun& run, const Location& output) {
  const Id value = run.value(output);
  const auto writer = run.writer(output);
  const auto leaves_it = [&](const std::string& with) {
    return blame(output, writer,
                 fmt::format("{} leaves {} (chunk {}) {}", describe(plan, *writer),
                             describe(output), output.chunk, with));
  };

  if (const auto only = sole_contributor(plan.request(), plan.block_of(output.chunk))) {
    if (value == expressions.leaf(*only)) return std::nullopt;
    if (!writer) return never_stored(plan, output);
    return leaves_it(expressions.is_leaf(value)
                         ? fmt::format("with the data of rank {}, not of rank {}", value, *only)
                         : fmt::format("with a sum over {} ranks, not the data of rank {}",
                                       expressions.contributors(value), *only));
  }

  const bool all = value != Expressions::nothing && expressions.contributors(value) == plan.ranks();
  if (all && !expressions.repeated(value)) return std::nullopt;
  if (!writer) return never_stored(plan, output);
  if (const auto twice = expressions.repeated(value)) {
    const auto op = run.repeater(output);
    return blame(output, op,
                 fmt::format("{} adds the contribution of rank {} to chunk {} a second time, and "
                             "{} ends with it",
                             describe(plan, *op), *twice, output.chunk, describe(output)));
  }
  std::vector<int> missing;
  for (int rank = 0; rank < plan.ranks(); ++rank)
    if (!expressions.contains(value, rank)) missing.push_back(rank);
  return leaves_it("without the contribution of " + name_ranks(missing));
}

std::optional<Fault> run_and_check(const Plan& plan, const Expressions& expressions,
                                   SymbolicRun& run) {
  while (!run.done())
    if (auto fault = run.step()) return fault;
  return for_each_output(plan, [&](const Location& output) {
    return fault_of_output(plan, expressions, run, output);
  });
}

/// "op 12 (...) leaves output[3] of rank 2 (chunk 3) with ((0+2)+1), not ((0+1)+2) as ...".
Fault other_expression(const Plan& plan, const Expressions& expressions, const SymbolicRun& run,
                       const Location& output, Id wanted, const std::string& as) {
  const auto writer = run.writer(output);
  return blame(
      output, writer,
      fmt::format("{} leaves {} (chunk {}) with {}, not {} as {}",
                  writer ? describe(plan, *writer) : "no op", describe(output), output.chunk,
                  expressions.text(run.value(output)), expressions.text(wanted), as));
}

/// Facts and difference of a right plan.
void derive_facts(const Plan& plan, const Expressions& expressions, const SymbolicRun& run,
                  Proof& proof) {
  auto& facts = proof.facts;
  facts = {true, true, true, true};
  if (plan.chunks() == 0 || sole_contributor(plan.request(), 0)) return;  // nothing is added

  std::vector<std::optional<Location>> seen(static_cast<std::size_t>(plan.chunks()));
  std::optional<Id> any;
  for_each_output(plan, [&](const Location& output) -> std::optional<Fault> {
    const Id value = run.value(output);
    facts.rank_order = facts.rank_order && expressions.in_rank_order(value) == plan.ranks();
    facts.one_rounding = facts.one_rounding && expressions.rounds_once(value);
    if (!any) any = value;
    facts.uniform = facts.uniform && value == *any;

    auto& first = seen[static_cast<std::size_t>(output.chunk)];
    if (!first) first = output;
    const Id wanted = run.value(*first);
    if (value != wanted && !proof.difference)
      proof.difference = other_expression(plan, expressions, run, output, wanted, describe(*first));
    return std::nullopt;
  });
  facts.same_on_all_ranks = !proof.difference;
}

}  // namespace

Proof prove(const Plan& plan) {
  if (plan.ranks() > max_proven_ranks)
    throw Error(ErrorCode::unsupported,
                fmt::format("plans of more than {} ranks are not proven: this one has {}",
                            max_proven_ranks, plan.ranks()));
  Proof proof;
  proof.refuted = structure_fault(plan);
  if (proof.refuted) return proof;
  Expressions expressions(plan.ranks());
  SymbolicRun run(plan, expressions);
  proof.refuted = run_and_check(plan, expressions, run);
  if (proof.holds()) derive_facts(plan, expressions, run, proof);
  return proof;
}

Proof require_proof(const Plan& plan, bool own) {
  Proof proof = prove(plan);
  const auto& fault = proof.refuted ? proof.refuted : proof.difference;
  if (proof.refuted || (own && proof.difference)) throw error_of(plan, *fault);
  return proof;
}

std::optional<Refutation> difference_in_bits(const Plan& plan, const Plan& reference) {
  if (plan.request() != reference.request() ||
      plan.shape().chunks_per_block != reference.shape().chunks_per_block)
    throw Error(ErrorCode::invalid_argument,
                "plans of different requests or chunks have no common expressions");
  require_proof(reference, false);
  require_proof(plan, false);
  Expressions expressions(plan.ranks());
  SymbolicRun run(plan, expressions), wanted(reference, expressions);
  while (!run.done()) (void)run.step();  // proven just now
  while (!wanted.done()) (void)wanted.step();
  return for_each_output(plan, [&](const Location& output) -> std::optional<Fault> {
    if (run.value(output) == wanted.value(output)) return std::nullopt;
    return other_expression(plan, expressions, run, output, wanted.value(output), "in the other");
  });
}

}  // namespace ringside
