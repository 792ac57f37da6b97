// SPDX-License-Identifier: MIT
/// Who must go before whom, derived while ops come: a new op conflicts with those before it that
/// write what it touches, or touch what it writes. Only ops that are still under way are kept, so
/// what this takes grows with them and not with the plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ringside/collectives/plan.hpp"

namespace ringside::simulated {

class Conflicts {
 public:
  /// `chunks`: of the whole request.
  Conflicts(const Request& request, const Shape& shape, int chunks);

  /// Notes what `op` of slice `slice` touches, under the number `id` (small, free), and appends to
  /// `before` those that it must follow and nothing else between them implies; some may be there
  /// twice. Ops come in the order (slice, listed). `slots`: of each rank, by need.
  template <class SlotsOfRank>
  void add(int id, const Op& op, int slice, const SlotsOfRank& slots, std::vector<int>& before) {
    for (const auto locations : {op.sources, op.destinations})
      for (const Location& location : locations)
        if (location.buffer == Buffer::scratch) know_slots(location, slots(location.rank));
    look_up(op, slice);
    find(op, before);
    note(id, op);
  }
  /// Forgets an op that has ended.
  void remove(int id);

  /// Memory cells that somebody under way touches.
  [[nodiscard]] std::size_t cells_in_use() const { return pool_.size() - free_cells_.size(); }

 private:
  static constexpr int none = -1;
  /// A cell of memory that ops under way touch.
  struct Cell {
    int writer = none;        ///< the last, while it is under way
    int first_reader = none;  ///< of the accesses since that write
    int users = 0;            ///< accesses of ops under way, also those before the last write
  };
  struct Entry {
    std::uint64_t key = 0;
    int cell = none;
  };
  /// A touch of a cell by an op.
  struct Access {
    int op = none, cell = none;
    int next_of_op = none;
    int previous_reader = none, next_reader = none;
    bool listed = false;  ///< among the cell's readers
  };

  void know_slots(const Location& location, std::span<const ScratchSlot> slots);
  void look_up(const Op& op, int slice);
  void find(const Op& op, std::vector<int>& before) const;
  void note(int id, const Op& op);
  /// Of the first chunk; the others' follow `slices_` apart. The same memory has the same key: that
  /// of a slice of a cell; scratch holds `depth` of them.
  [[nodiscard]] std::uint64_t key(const Location& location, int slice) const;
  [[nodiscard]] std::size_t position(std::uint64_t key) const;
  int cell(std::uint64_t key);
  void make_room();
  int new_access(int id, int number);
  void list_reader(int number, Cell& cell);
  void unlist_readers(Cell& cell);
  void unlist(Access& access, Cell& cell);

  Cells cells_;
  std::uint64_t slices_, depth_;
  std::vector<Cell> pool_;  // cells in the table and free ones
  std::vector<int> free_cells_;
  // Open addressing. A cell without users stays until room is needed: looking for it again would
  // cost more.
  std::vector<Entry> table_;
  int shift_ = 0;
  std::vector<int> touched_;  // cells of the op that is being added: sources', then destinations'
  std::vector<Access> accesses_;
  std::vector<int> free_accesses_;
  std::vector<int> first_access_;  // by op
};

}  // namespace ringside::simulated
