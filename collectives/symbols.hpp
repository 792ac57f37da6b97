// SPDX-License-Identifier: MIT
/// A plan run on symbols: what every memory cell holds after each op, as an expression over the
/// ranks' contributions. What the prover decides by, and what a drawing of a plan shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "ringside/collectives/plan.hpp"

namespace ringside {

/// Expressions over the contributions of ranks: one rank's (a leaf), or a fold of others from left
/// to right. Equal ones get the same number (hash consing), where the first two operands of a fold
/// may be swapped: a + b = b + a exactly, also in floating point, and nothing else is. A fold of
/// three is not two folds of two: narrow types are rounded once per fold.
class Expressions {
 public:
  using Id = std::uint32_t;
  static constexpr Id nothing = std::numeric_limits<Id>::max();  ///< what unwritten memory holds

  explicit Expressions(int ranks);
  Expressions(const Expressions&) = delete;
  Expressions& operator=(const Expressions&) = delete;

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] Id leaf(int rank) const { return static_cast<Id>(rank); }
  /// The fold of at least one expression; of one, that expression.
  [[nodiscard]] Id fold(std::span<const Id> operands);

  [[nodiscard]] bool is_leaf(Id id) const { return id < static_cast<Id>(ranks_); }
  /// The operands of a fold, the first two in canonical order; none of a leaf.
  [[nodiscard]] std::span<const Id> operands(Id id) const;
  /// Whether a rank's contribution is in it, and how many ranks' are.
  [[nodiscard]] bool contains(Id id, int rank) const;
  [[nodiscard]] int contributors(Id id) const;
  /// A rank whose contribution is in it more than once.
  [[nodiscard]] std::optional<int> repeated(Id id) const;
  /// Number of ranks p if it adds those of 0 .. p-1 in this order (rounding anywhere), else 0.
  [[nodiscard]] int in_rank_order(Id id) const { return record(id).in_rank_order; }
  /// Rounded at most once: a leaf, or a fold of nothing but leaves.
  [[nodiscard]] bool rounds_once(Id id) const { return record(id).rounds_once; }

  /// "((0+1)+2)", the end cut off beyond `longest` characters.
  [[nodiscard]] std::string text(Id id, std::size_t longest = 80) const;

 private:
  struct Record {
    std::size_t first_operand = 0;
    std::uint32_t operands = 0;
    int repeated = -1;
    int in_rank_order = 0;
    bool rounds_once = true;
  };
  // Of the numbered expressions, by their operands.
  struct Hash {
    const Expressions* all;
    std::size_t operator()(Id id) const;
  };
  struct Equal {
    const Expressions* all;
    bool operator()(Id a, Id b) const;
  };

  [[nodiscard]] const Record& record(Id id) const { return records_[id]; }
  [[nodiscard]] std::span<const std::uint64_t> ranks_of(Id id) const {
    return {members_.data() + static_cast<std::size_t>(id) * words_, words_};
  }
  void derive(Id id);
  void write(Id id, std::size_t longest, std::string& text) const;

  int ranks_;
  std::size_t words_;  // 64-bit words of a set of ranks
  std::vector<Record> records_;
  std::vector<Id> operands_;
  std::vector<std::uint64_t> members_;  // [id][word]: the contributing ranks
  std::unordered_set<Id, Hash, Equal> folds_;
};

/// Runs a well-formed plan's ops one after another in listed order. The plan must outlive it.
class SymbolicRun {
 public:
  /// Throws Error(unsupported) for a plan of more cells, or more work, than is kept in memory and
  /// done in a minute (far above what `max_proven_ranks` ranks need).
  SymbolicRun(const Plan& plan, Expressions& expressions);

  [[nodiscard]] std::size_t next() const { return next_; }
  [[nodiscard]] bool done() const { return next_ == plan_.size(); }
  /// Runs the next op, or returns why it must not run: it reads what nothing has written, or writes
  /// an input (or in place, a part of it where the rank has no output).
  [[nodiscard]] std::optional<Fault> step();

  /// What the offset-th chunk from a location holds now.
  [[nodiscard]] Expressions::Id value(const Location& location, int offset = 0) const {
    return cells_[numbering_.at(location, offset)].value;
  }
  /// The last op that stored there.
  [[nodiscard]] std::optional<std::size_t> writer(const Location& location) const;
  /// The op that first added a contribution a second time to what is there now.
  [[nodiscard]] std::optional<std::size_t> repeater(const Location& location) const;

 private:
  struct Cell {
    Expressions::Id value = Expressions::nothing;
    int writer = -1;
    int repeater = -1;
  };
  const Plan& plan_;
  Expressions& expressions_;
  Cells numbering_;
  std::vector<Cell> cells_;
  std::vector<Expressions::Id> operands_;  // of the op being run
  std::size_t next_ = 0;
};

}  // namespace ringside
