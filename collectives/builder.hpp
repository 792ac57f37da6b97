// SPDX-License-Identifier: MIT
/// How an algorithm writes its plan: it is a coroutine over a `Group` of ranks that yields ops.
///
///     OpStream gather_to_zero(Group g) {
///       for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.combine(0, 0, rank, 0);
///       for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.copy(0, rank, 0);
///     }
///
/// Each rank has a *running value* of each chunk: its input until it has stored one, from then on
/// its output. `combine` and `copy` work on running values, so one text serves both placements. A
/// rank whose output does not hold the chunk (it passes partial sums on to the root, or blocks to
/// others) keeps its running value in scratch, which is made when it first stores one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ringside/base/generator.hpp"
#include "ringside/collectives/plan.hpp"

namespace ringside {

/// What an algorithm's coroutine returns. An op's spans are valid until the next one is pulled.
using OpStream = Generator<Op>;

/// State of one generation run: the shape, who has stored what, and the scratch asked for.
/// Algorithms see it through a Group; sinks read the shape and the slots.
class Builder {
 public:
  /// `natural_lanes` is how many lanes the algorithm tells apart; `shape.lanes` how many there are.
  Builder(const Request& request, const Shape& shape, int natural_lanes);

  [[nodiscard]] const Request& request() const { return request_; }
  /// Of the plan, settled before the first op.
  [[nodiscard]] const Shape& shape() const { return shape_; }
  /// Scratch asked for so far, [rank][slot].
  [[nodiscard]] const std::vector<std::vector<ScratchSlot>>& slots() const { return slots_; }

 private:
  friend class Group;
  /// The chunks that a rank's output holds: runs of `length` chunks, one every `period` from
  /// `first`. Its flags in `stored_` begin at `flags`.
  struct Held {
    int first, length, period, runs;
    std::size_t flags;
  };
  /// Scratch for a rank's running values of a run of chunks.
  struct RunningSlot {
    int count, slot;
    bool stored;
  };
  /// The flag of a chunk in a rank's output, or nothing if the output does not hold it.
  [[nodiscard]] std::optional<std::size_t> flag(int rank, int chunk) const;
  /// The running slot that holds a chunk, or null.
  [[nodiscard]] RunningSlot* running_slot(int rank, int chunk);
  void check_run(int rank, int chunk, int count) const;
  [[nodiscard]] Location running(int rank, int chunk);
  [[nodiscard]] Location next(int rank, int chunk, int count);
  [[nodiscard]] int new_slot(int rank, int chunk, int count);
  void mark_stored(const Location& location, int count);
  [[nodiscard]] int lane_for(int natural_lane, int chunk) const;

  Request request_;
  Shape shape_;
  int natural_lanes_;
  int chunks_;
  std::vector<Held> held_;                                 // [rank]
  std::vector<std::uint8_t> stored_;                       // [flag]
  std::vector<std::map<int, RunningSlot>> running_slots_;  // [rank], by first chunk
  std::vector<std::vector<ScratchSlot>> slots_;
  std::vector<Location> sources_, destinations_;  // of the op being yielded
};

/// Some ranks and a run of the data, seen by an algorithm as ranks 0..ranks()-1 and chunks
/// 0..chunks()-1. A value: copy it freely. The whole request is one Group; a hierarchical algorithm
/// hands parts of it to other algorithms, which cannot tell the difference.
class Group {
 public:
  /// All ranks and all chunks. All that a group hands out lies in it: everything below throws
  /// Error(invalid_argument) for ranks and chunks that it has not got.
  explicit Group(Builder& builder);

  /// How many are in the group; they are numbered from 0.
  [[nodiscard]] int ranks() const { return static_cast<int>(members_->size()); }
  /// How many the group has of the data; they are numbered from 0.
  [[nodiscard]] int chunks() const { return chunks_; }
  /// The request's placement. Few algorithms need it: running values serve both.
  [[nodiscard]] bool in_place() const { return builder_->request().in_place; }

  /// The same data among some of the ranks, as numbered here.
  [[nodiscard]] Group among(const std::vector<int>& ranks) const;
  /// Chunks first .. first + count - 1 as numbered here, renumbered as `parts` chunks from 0
  /// (`parts` divides `count`).
  [[nodiscard]] Group part(int first, int count, int parts) const;
  /// Ops made through the result go to this lane (0, 1, ...: phases that should overlap between
  /// slices take different ones), unless the lane is fixed already.
  [[nodiscard]] Group on_lane(int lane) const;
  /// The same for good: `on_lane` of the result and of its parts changes nothing. For algorithms
  /// that put others' whole phases on a lane.
  [[nodiscard]] Group on_fixed_lane(int lane) const;

  // --- locations -------------------------------------------------------------------------------

  /// Where the running value of a rank's chunk is.
  [[nodiscard]] Location cur(int rank, int chunk) const;
  /// Where a rank stores its next running value of chunks chunk .. chunk + count - 1: its output if
  /// that holds them all, else scratch. Scratch for a run must lie within that of an earlier one or
  /// touch none.
  [[nodiscard]] Location next(int rank, int chunk, int count = 1) const;
  /// In the rank's input, whatever it has stored since. That the input holds the chunk shows only
  /// when the plan is checked (structure_fault).
  [[nodiscard]] Location input(int rank, int chunk) const;
  /// In the rank's output, as above.
  [[nodiscard]] Location output(int rank, int chunk) const;
  /// A new scratch slot of a rank, for chunks first .. first + count - 1.
  [[nodiscard]] int new_slot(int rank, int first, int count) const;
  /// In a slot of the rank that `new_slot` made for the chunk.
  [[nodiscard]] Location scratch(int rank, int slot, int chunk) const;

  // --- ops: each is valid until the next one is made -------------------------------------------

  /// Rank `at` stores `first` + `second`, two ranks' running values, as its own.
  [[nodiscard]] Op combine(int at, int first, int second, int chunk, int count = 1) const;
  /// Rank `to` takes over the running value of `from`; `to` executes it (a pull).
  [[nodiscard]] Op copy(int from, int to, int chunk, int count = 1) const;
  /// The same executed by `from` (a push).
  [[nodiscard]] Op push(int from, int to, int chunk, int count = 1) const;
  /// Rank `rank` stores one location's value to another.
  [[nodiscard]] Op store(int rank, const Location& from, const Location& to, int count = 1) const;
  /// Rank `rank` folds two locations' values, in this order, and stores the result.
  [[nodiscard]] Op add(int rank, const Location& first, const Location& second, const Location& to,
                       int count = 1) const;
  /// Any op, of locations made by this group; `rank` executes it.
  [[nodiscard]] Op op(int rank, std::span<const Location> sources,
                      std::span<const Location> destinations, int count = 1) const;

 private:
  Group() = default;
  [[nodiscard]] int global_rank(int rank) const {
    if (rank < 0 || rank >= ranks()) reject("rank", rank, ranks());
    return (*members_)[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] int global_chunk(int chunk) const {
    if (chunk < 0 || chunk >= chunks_) reject("chunk", chunk, chunks_);
    return first_chunk_ + chunk * unit_;
  }
  [[noreturn]] static void reject(const char* what, int number, int count);
  [[nodiscard]] Op finish(int rank, int count) const;

  Builder* builder_ = nullptr;
  std::shared_ptr<const std::vector<int>> members_;
  int first_chunk_ = 0;  // of the request
  int chunks_ = 0;       // as numbered here
  int unit_ = 1;         // chunks of the request in one of these
  int lane_ = 0;
  bool lane_fixed_ = false;
};

}  // namespace ringside
