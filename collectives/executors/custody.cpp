// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/custody.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/lower.hpp"

namespace ringside {
namespace {

/// Whether an op stores the bytes that it reads, to however many destinations.
bool copies_bytes(const Op& op, const OpFacts& facts, FoldShape values) {
  values.k = op.sources.size();
  values.m = 1;
  values.raw_mask = facts.raw_mask;
  values.all_raw = facts.all_raw;
  values.completes = facts.completes;
  return is_plain_copy(values);
}

/// The last op before `op` that stored what is at a location; nothing for an input.
std::optional<std::size_t> writer_of(const Plan& plan, std::size_t op, const Location& at) {
  const Cells cells(plan);
  const std::size_t cell = cells.at(at);
  while (op-- > 0) {
    const Op earlier = plan.op(op);
    for (const Location& to : earlier.destinations)
      for (int offset = 0; offset < earlier.count; ++offset)
        if (to.rank == at.rank && cells.at(to, offset) == cell) return op;
  }
  return std::nullopt;
}

/// The rank that the bytes which `rank` finds at a location come from, if that is another; `by`:
/// the op that stored them.
std::optional<int> sender_of(const Plan& plan, std::optional<std::size_t> by, const Location& at,
                             int rank) {
  if (at.rank != rank) return at.rank;
  if (!by) return std::nullopt;
  const Op writer = plan.op(*by);
  if (writer.rank != rank) return writer.rank;
  for (const Location& from : writer.sources)
    if (from.rank != rank) return from.rank;
  return std::nullopt;
}

}  // namespace

Custody::Custody(const Plan& plan, const Schedule& schedule, const FoldShape& values)
    : request_(plan.request()),
      shape_(plan.shape()),
      cells_(plan),
      held_(cells_.size()),
      made_(static_cast<std::size_t>(plan.ranks())) {
  for (int rank = 0; rank < plan.ranks(); ++rank)
    for_each_chunk(plan, rank, Buffer::input,
                   [&](const Location& location) { held_[cells_.at(location)] = make(rank); });
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Op op = plan.op(i);
    const bool folds = !copies_bytes(op, schedule.facts[i], values);
    const bool own = op.destinations.front().rank == op.rank;
    parts_.push_back(folds ? Part::fold : own ? Part::land : Part::send);
    const bool makes = folds || is_wire(plan, op.sources.front());
    first_.push_back(of_ops_.size());
    sources_.push_back(op.sources.size());
    counts_.push_back(static_cast<std::size_t>(op.count));
    for (const Location& from : op.sources)
      for (int offset = 0; offset < op.count; ++offset)
        of_ops_.push_back(held_[cells_.at(from, offset)]);
    for (int offset = 0; offset < op.count; ++offset) {
      const Value result = makes ? make(op.rank) : source(i, 0, offset);
      of_ops_.push_back(result);
      for (const Location& to : op.destinations) held_[cells_.at(to, offset)] = result;
    }
  }
}

Value Custody::make(int rank) {
  std::uint32_t& made = made_[static_cast<std::size_t>(rank)];
  if (made == std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorCode::unsupported, "a plan with more ops than checksums can be numbered");
  return {rank, made++};
}

Value Custody::input(const Location& location) const {
  const int chunks = shape_.chunks_per_block;
  const BlockRange blocks = blocks_in(request_, location.rank, Buffer::input);
  const int block = blocks.position(location.chunk / chunks);
  return {location.rank, static_cast<std::uint32_t>(block * chunks + location.chunk % chunks)};
}

void for_each_chunk(const Plan& plan, int rank, Buffer buffer,
                    const std::function<void(const Location&)>& use) {
  const BlockRange blocks = blocks_in(plan.request(), rank, buffer);
  const int chunks = plan.shape().chunks_per_block;
  for (int i = 0; i < blocks.count; ++i)
    for (int chunk = 0; chunk < chunks; ++chunk)
      use({rank, buffer, 0, blocks.block(i) * chunks + chunk});
}

Error corrupted_chunk(const Plan& plan, std::size_t op, const Location& at, int rank,
                      std::uint64_t call) {
  const bool at_end = op == plan.size();
  // What a copy has just stored, it stored itself.
  bool stored_by_op = false;
  if (!at_end && plan.op(op).sources.size() == 1)
    for (const Location& to : plan.op(op).destinations)
      stored_by_op |= to.rank == at.rank && to.buffer == at.buffer && to.slot == at.slot;
  const auto by = writer_of(plan, stored_by_op ? op + 1 : op, at);
  Error error(ErrorCode::corrupted,
              fmt::format("the bytes that arrived differ from those sent: {} in {} ({}, call {}), "
                          "{}; found by rank {}{}",
                          describe(at), to_string(plan.request().collective), plan.spec(), call,
                          by ? "stored by " + describe(plan, *by) : "an input", rank,
                          at_end ? " at the end" : fmt::format(" at op {}", op)));
  error.at_rank(rank);
  if (!at_end)
    error.at_step(static_cast<int>(op));
  else if (by)
    error.at_step(static_cast<int>(*by));
  if (const auto peer = sender_of(plan, by, at, rank)) error.with_peer(*peer);
  return error;
}

}  // namespace ringside
