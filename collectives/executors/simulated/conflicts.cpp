// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/conflicts.hpp"

#include <utility>

namespace ringside::simulated {
namespace {

constexpr std::size_t first_table = 1024;
constexpr std::size_t line = 4;  // entries in a cache line

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
      table_(first_table) {
  for (std::size_t size = table_.size() / line; size > 1; size /= 2) ++shift_;
  shift_ = 64 - shift_;
}

void Conflicts::know_slots(const Location& location, std::span<const ScratchSlot> slots) {
  while (cells_.slots(location.rank) <= index(location.slot))
    cells_.add_slot(location.rank, slots[cells_.slots(location.rank)]);
}

std::uint64_t Conflicts::key(const Location& location, int slice) const {
  const auto part = static_cast<std::uint64_t>(slice);
  return cells_.at(location) * slices_ +
         (location.buffer == Buffer::scratch ? part % depth_ : part);
}

/// Where a key is or would be: at the first entry that has it or is free, line of the cache by line
/// (Fibonacci hashing, Knuth 6.4). Neighbours in memory, which are mostly touched one after
/// another, share a line, each with a place of its own.
std::size_t Conflicts::position(std::uint64_t key) const {
  const std::size_t mask = table_.size() - 1;
  const std::size_t place = key % line;
  std::size_t first = ((key / line * 0x9E3779B97F4A7C15U) >> shift_) * line;
  while (true) {
    for (std::size_t i = 0; i < line; ++i) {
      const std::size_t at = first + (place + i) % line;
      if (table_[at].cell == none || table_[at].key == key) return at;
    }
    first = (first + line) & mask;
  }
}

int Conflicts::cell(std::uint64_t key) {
  const std::size_t at = position(key);
  if (table_[at].cell != none) return table_[at].cell;
  if (cells_in_use() * 2 >= table_.size()) {
    make_room();
    return cell(key);
  }
  std::size_t end = pool_.size();
  const int number = take(free_cells_, end);
  pool_.resize(end);
  pool_[index(number)] = {};
  table_[at] = {key, number};
  return number;
}

/// Drops the cells without users; where many have some, the table becomes larger.
void Conflicts::make_room() {
  std::vector<Entry> old = std::exchange(table_, {});
  std::size_t size = old.size();
  std::erase_if(old, [&](const Entry& entry) {
    if (entry.cell == none) return true;
    if (pool_[index(entry.cell)].users > 0) return false;
    free_cells_.push_back(entry.cell);
    return true;
  });
  if (old.size() * 4 > size) {
    size *= 2;
    --shift_;
  }
  table_.assign(size, {});
  for (const Entry& entry : old) table_[position(entry.key)] = entry;
}

void Conflicts::look_up(const Op& op, int slice) {
  touched_.clear();
  for (const auto locations : {op.sources, op.destinations})
    for (const Location& location : locations) {
      std::uint64_t next = key(location, slice);
      for (int i = 0; i < op.count; ++i, next += slices_) {
        const int number = cell(next);
        ++pool_[index(number)].users;  // at once, so that making room for the next keeps it
        touched_.push_back(number);
      }
    }
}

void Conflicts::find(const Op& op, std::vector<int>& before) const {
  const std::size_t read = op.sources.size() * index(op.count);
  for (std::size_t i = 0; i < read; ++i)
    if (const int writer = pool_[index(touched_[i])].writer; writer != none)
      before.push_back(writer);
  for (std::size_t i = read; i < touched_.size(); ++i) {
    const Cell& cell = pool_[index(touched_[i])];
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
  return access;
}

void Conflicts::note(int id, const Op& op) {
  if (first_access_.size() <= index(id)) first_access_.resize(index(id) + 1, none);
  const std::size_t read = op.sources.size() * index(op.count);
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    const int access = new_access(id, touched_[i]);
    Cell& cell = pool_[index(touched_[i])];
    if (i < read) {
      list_reader(access, cell);
    } else {
      unlist_readers(cell);
      cell.writer = id;
    }
  }
}

void Conflicts::list_reader(int number, Cell& cell) {
  Access& reader = accesses_[index(number)];
  reader.listed = true;
  reader.next_reader = cell.first_reader;
  if (cell.first_reader != none) accesses_[index(cell.first_reader)].previous_reader = number;
  cell.first_reader = number;
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
    --touched.users;
    free_accesses_.push_back(at);
    at = access.next_of_op;
  }
}

}  // namespace ringside::simulated
