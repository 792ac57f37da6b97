// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/causes.hpp"

#include <algorithm>

namespace ringside::simulated {
namespace {

/// The pieces of one op, from `begin`, when its cause had ended.
void add_pieces(std::vector<CriticalPiece>& pieces, const EndedOp& op, double begin) {
  using Kind = CriticalPiece::Kind;
  const auto add = [&](Kind kind, double end, std::optional<ResourceId> limit = std::nullopt) {
    if (end <= begin) return;
    pieces.push_back({.kind = kind,
                      .begin = begin,
                      .end = end,
                      .rank = op.rank,
                      .op = op.op,
                      .slice = op.slice,
                      .limit = limit});
    begin = end;
  };
  // Sums of the same numbers may differ in their last digit from how the engine added them up.
  add(Kind::overhead, std::min(begin + op.overhead, op.end));
  add(Kind::latency, std::min(begin + op.latency, op.end));
  add(Kind::transfer, op.end, op.limit);
}

}  // namespace

Causes::Id Causes::add(const EndedOp& op, Id cause) {
  const Record record{op, cause};
  if (free_.empty()) {
    records_.push_back(record);
    return static_cast<Id>(records_.size()) - 1;
  }
  const Id id = free_.back();
  free_.pop_back();
  records_[static_cast<std::size_t>(id)] = record;
  return id;
}

Causes::Id Causes::share(Id id) {
  if (id != start) ++records_[static_cast<std::size_t>(id)].users;
  return id;
}

void Causes::release(Id id) {
  while (id != start) {
    Record& record = records_[static_cast<std::size_t>(id)];
    if (--record.users > 0) return;
    free_.push_back(id);
    id = record.cause;
  }
}

std::vector<CriticalPiece> Causes::path(Id last, double call) const {
  std::vector<const Record*> ops;
  for (Id id = last; id != start; id = ops.back()->cause)
    ops.push_back(&records_[static_cast<std::size_t>(id)]);
  std::vector<CriticalPiece> pieces;
  if (call > 0) {
    CriticalPiece& piece = pieces.emplace_back();
    piece.kind = CriticalPiece::Kind::call;
    piece.end = call;
  }
  double end = call;
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    add_pieces(pieces, (*op)->op, end);
    end = (*op)->op.end;
  }
  return pieces;
}

}  // namespace ringside::simulated
