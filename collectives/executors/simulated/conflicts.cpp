// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/conflicts.hpp"

#include <utility>

namespace ringside::simulated {
namespace {

constexpr std::size_t first_table = 1024;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

int take(std::vector<int>& free, std::size_t& end) {
  if (free.empty()) return static_cast<int>(end++);
  const int number = free.back();
  free.pop_back();
  return number;
}

}  // namespace

Conflicts::Conflicts(const Request& request, const Shape& shape, int chunks)
    : cells_(request, chunks),
      slices_(static_cast<std::uint64_t>(shape.slices)),
      depth_(static_cast<std::uint64_t>(shape.depth)),
      table_(first_table, none) {
  for (std::size_t size = table_.size(); size > 1; size /= 2) ++shift_;
  shift_ = 64 - shift_;
}

void Conflicts::know_slots(const Location& location, std::span<const ScratchSlot> slots) {
  while (cells_.slots(location.rank) <= index(location.slot))
    cells_.add_slot(location.rank, slots[cells_.slots(location.rank)]);
}

std::uint64_t Conflicts::key(const Location& location, int offset, int slice) const {
  const auto part = static_cast<std::uint64_t>(slice);
  return cells_.at(location, offset) * slices_ +
         (location.buffer == Buffer::scratch ? part % depth_ : part);
}

std::size_t Conflicts::home(std::uint64_t key) const {
  return (key * 0x9E3779B97F4A7C15U) >> shift_;  // Fibonacci hashing (Knuth 6.4)
}

int Conflicts::known_cell(std::uint64_t key) const {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = home(key); table_[at] != none; at = (at + 1) & mask)
    if (pool_[index(table_[at])].key == key) return table_[at];
  return none;
}

int Conflicts::cell(std::uint64_t key) {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = home(key);
  for (; table_[at] != none; at = (at + 1) & mask)
    if (pool_[index(table_[at])].key == key) return table_[at];
  std::size_t end = pool_.size();
  const int number = take(free_cells_, end);
  pool_.resize(end);
  pool_[index(number)] = {key};
  table_[at] = number;
  if (++used_ * 2 > table_.size()) grow();
  return number;
}

void Conflicts::grow() {
  const std::vector<int> old = std::exchange(table_, std::vector<int>(table_.size() * 2, none));
  --shift_;
  const std::size_t mask = table_.size() - 1;
  for (const int number : old) {
    if (number == none) continue;
    std::size_t at = home(pool_[index(number)].key);
    while (table_[at] != none) at = (at + 1) & mask;
    table_[at] = number;
  }
}

void Conflicts::erase(int number) {
  const std::size_t mask = table_.size() - 1;
  std::size_t hole = home(pool_[index(number)].key);
  while (table_[hole] != number) hole = (hole + 1) & mask;
  // What was pushed on by the erased one moves up (Knuth 6.4, algorithm R).
  for (std::size_t at = (hole + 1) & mask; table_[at] != none; at = (at + 1) & mask) {
    const std::size_t wanted = home(pool_[index(table_[at])].key);
    if (((at - wanted) & mask) >= ((at - hole) & mask)) {
      table_[hole] = table_[at];
      hole = at;
    }
  }
  table_[hole] = none;
  free_cells_.push_back(number);
  --used_;
}

void Conflicts::find(const Op& op, int slice, std::vector<int>& before) {
  for (const Location& from : op.sources)
    for (int offset = 0; offset < op.count; ++offset) {
      const int number = known_cell(key(from, offset, slice));
      if (number != none && pool_[index(number)].writer != none)
        before.push_back(pool_[index(number)].writer);
    }
  for (const Location& to : op.destinations)
    for (int offset = 0; offset < op.count; ++offset) {
      const int number = known_cell(key(to, offset, slice));
      if (number == none) continue;
      const Cell& cell = pool_[index(number)];
      // Readers since the write come after it.
      if (cell.first_reader == none && cell.writer != none) before.push_back(cell.writer);
      for (int at = cell.first_reader; at != none; at = accesses_[index(at)].next_reader)
        before.push_back(accesses_[index(at)].op);
    }
}

int Conflicts::new_access(int id, int number) {
  std::size_t end = accesses_.size();
  const int access = take(free_accesses_, end);
  accesses_.resize(end);
  int& first = first_access_[index(id)];
  accesses_[index(access)] = {id, number, first};
  first = access;
  ++pool_[index(number)].users;
  return access;
}

void Conflicts::note(int id, const Op& op, int slice) {
  if (first_access_.size() <= index(id)) first_access_.resize(index(id) + 1, none);
  for (const Location& from : op.sources)
    for (int offset = 0; offset < op.count; ++offset) {
      const int number = cell(key(from, offset, slice));
      const int access = new_access(id, number);
      Cell& touched = pool_[index(number)];
      accesses_[index(access)].listed = true;
      accesses_[index(access)].next_reader = touched.first_reader;
      if (touched.first_reader != none)
        accesses_[index(touched.first_reader)].previous_reader = access;
      touched.first_reader = access;
    }
  for (const Location& to : op.destinations)
    for (int offset = 0; offset < op.count; ++offset) {
      const int number = cell(key(to, offset, slice));
      (void)new_access(id, number);
      Cell& touched = pool_[index(number)];
      unlist_readers(touched);
      touched.writer = id;
    }
}

void Conflicts::unlist_readers(Cell& cell) {
  for (int at = std::exchange(cell.first_reader, none); at != none;) {
    Access& reader = accesses_[index(at)];
    reader.listed = false;
    at = reader.next_reader;
  }
}

void Conflicts::unlist(Access& access, Cell& cell) {
  if (access.next_reader != none)
    accesses_[index(access.next_reader)].previous_reader = access.previous_reader;
  if (access.previous_reader != none)
    accesses_[index(access.previous_reader)].next_reader = access.next_reader;
  else
    cell.first_reader = access.next_reader;
}

void Conflicts::remove(int id) {
  for (int at = std::exchange(first_access_[index(id)], none); at != none;) {
    Access& access = accesses_[index(at)];
    Cell& touched = pool_[index(access.cell)];
    if (access.listed) unlist(access, touched);
    if (touched.writer == id) touched.writer = none;
    if (--touched.users == 0) erase(access.cell);
    free_accesses_.push_back(at);
    at = access.next_of_op;
  }
}

}  // namespace ringside::simulated
