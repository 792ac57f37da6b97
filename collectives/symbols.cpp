// SPDX-License-Identifier: MIT
#include "ringside/collectives/symbols.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

// What all_to_all of 256 ranks takes (two buffers of 65,536 blocks a rank): 400 MB of cells.
constexpr std::size_t most_cells = std::size_t{1} << 25;
// Reads and writes of one chunk; the most that 256 ranks need is below 2^23.
constexpr std::size_t most_accesses = std::size_t{1} << 30;

Location shifted(Location location, int offset) {
  location.chunk += offset;
  return location;
}

std::size_t accesses_of(const Plan& plan) {
  std::size_t total = 0;
  for (std::size_t index = 0; index < plan.size(); ++index) {
    const Op op = plan.op(index);
    total += static_cast<std::size_t>(op.count) * (op.sources.size() + op.destinations.size());
  }
  return total;
}

/// Checked before the cells are numbered, which takes memory itself.
const Plan& affordable(const Plan& plan) {
  std::size_t cells = static_cast<std::size_t>(plan.ranks()) *
                      static_cast<std::size_t>(plan.chunks()) * (plan.request().in_place ? 1 : 2);
  for (int rank = 0; rank < plan.ranks(); ++rank)
    for (const auto& slot : plan.scratch(rank)) cells += static_cast<std::size_t>(slot.chunk_count);
  const auto refuse = [](std::size_t count, std::size_t most, std::string_view what) {
    if (count > most)
      throw Error(ErrorCode::unsupported,
                  fmt::format("a plan with {} {} is too large to be run on symbols: the most is {}",
                              count, what, most));
  };
  refuse(cells, most_cells, "chunks in all buffers");
  refuse(accesses_of(plan), most_accesses, "reads and writes of chunks");
  return plan;
}

}  // namespace

Expressions::Expressions(int ranks)
    : ranks_(ranks),
      words_((static_cast<std::size_t>(ranks) + 63) / 64),
      records_(static_cast<std::size_t>(ranks)),
      members_(static_cast<std::size_t>(ranks) * words_),
      folds_(0, Hash{this}, Equal{this}) {
  for (std::size_t rank = 0; rank < records_.size(); ++rank)
    members_[rank * words_ + rank / 64] |= std::uint64_t{1} << (rank % 64);
  records_.at(0).in_rank_order = 1;
}

std::size_t Expressions::Hash::operator()(Id id) const {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const Id operand : all->operands(id)) {
    hash = (hash ^ operand) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

bool Expressions::Equal::operator()(Id a, Id b) const {
  return std::ranges::equal(all->operands(a), all->operands(b));
}

std::span<const Expressions::Id> Expressions::operands(Id id) const {
  return {operands_.data() + record(id).first_operand, record(id).operands};
}

Expressions::Id Expressions::fold(std::span<const Id> operands) {
  if (operands.size() == 1) return operands.front();
  const auto id = static_cast<Id>(records_.size());
  const std::size_t first = operands_.size();
  records_.push_back(
      {.first_operand = first, .operands = static_cast<std::uint32_t>(operands.size())});
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  if (operands_[first] > operands_[first + 1]) std::swap(operands_[first], operands_[first + 1]);
  const auto [known, inserted] = folds_.insert(id);
  if (inserted) {
    derive(id);
    return id;
  }
  operands_.resize(first);
  records_.pop_back();
  return *known;
}

/// Fills in what follows from the operands.
void Expressions::derive(Id id) {
  Record& made = records_[id];
  const auto parts = operands(id);
  members_.resize(members_.size() + words_);
  const auto mine = members_.end() - static_cast<std::ptrdiff_t>(words_);
  for (const Id part : parts) {
    const auto theirs = ranks_of(part);
    if (made.repeated < 0) made.repeated = record(part).repeated;
    for (std::size_t word = 0; word < words_; ++word) {
      auto& set = mine[static_cast<std::ptrdiff_t>(word)];
      if (const auto both = set & theirs[word]; both != 0 && made.repeated < 0)
        made.repeated = static_cast<int>(word) * 64 + std::countr_zero(both);
      set |= theirs[word];
    }
    made.rounds_once = made.rounds_once && is_leaf(part);
  }
  // ((0 + 1) + 2) + ...: one of the first two is that of some ranks 0 .. p-1, and the other and all
  // that follow are the leaves p, p+1, ...
  const auto extend = [&](int so_far, Id next) {
    return so_far > 0 && so_far < ranks_ && next == leaf(so_far) ? so_far + 1 : 0;
  };
  int ordered = std::max(extend(record(parts[0]).in_rank_order, parts[1]),
                         extend(record(parts[1]).in_rank_order, parts[0]));
  for (const Id part : parts.subspan(2)) ordered = extend(ordered, part);
  made.in_rank_order = ordered;
}

bool Expressions::contains(Id id, int rank) const {
  const auto place = static_cast<std::size_t>(rank);
  return (ranks_of(id)[place / 64] >> (place % 64) & 1) != 0;
}

int Expressions::contributors(Id id) const {
  int count = 0;
  for (const auto word : ranks_of(id)) count += std::popcount(word);
  return count;
}

std::optional<int> Expressions::repeated(Id id) const {
  if (record(id).repeated < 0) return std::nullopt;
  return record(id).repeated;
}

void Expressions::write(Id id, std::size_t longest, std::string& text) const {
  if (is_leaf(id)) {
    text += std::to_string(id);
    return;
  }
  text += '(';
  bool first = true;
  for (const Id part : operands(id)) {
    if (text.size() > longest) return;  // also what bounds the recursion
    if (!first) text += '+';
    first = false;
    write(part, longest, text);
  }
  text += ')';
}

std::string Expressions::text(Id id, std::size_t longest) const {
  if (id == nothing) return "nothing";
  std::string text;
  write(id, longest, text);
  if (text.size() > longest) text.replace(longest, std::string::npos, "...");
  return text;
}

SymbolicRun::SymbolicRun(const Plan& plan, Expressions& expressions)
    : plan_(plan),
      expressions_(expressions),
      numbering_(affordable(plan)),
      cells_(numbering_.size()) {
  const int chunks_per_block = plan.shape().chunks_per_block;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const auto blocks = blocks_in(plan.request(), rank, Buffer::input);
    for (int i = 0; i < blocks.count; ++i) {
      const int first = blocks.block(i) * chunks_per_block;
      for (int chunk = first; chunk < first + chunks_per_block; ++chunk)
        cells_[numbering_.at({rank, Buffer::input, 0, chunk})].value = expressions.leaf(rank);
    }
  }
}

std::optional<Fault> SymbolicRun::step() {
  const Op op = plan_.op(next_);
  const auto index = static_cast<int>(next_);
  const auto fault = [&](std::string_view does, const Location& location, std::string_view why) {
    return Fault{fmt::format("{} {} {} (chunk {}){}", describe(plan_, next_), does,
                             describe(location), location.chunk, why),
                 next_, op.rank, location.chunk};
  };
  for (const auto& to : op.destinations) {
    if (to.buffer != Buffer::input) continue;
    if (!plan_.request().in_place)
      return fault("stores to", to, ": out of place, inputs must stay intact");
    const auto outputs = blocks_in(plan_.request(), to.rank, Buffer::output);
    for (int offset = 0; offset < op.count; ++offset)
      if (!outputs.contains(plan_.block_of(to.chunk + offset)))
        return fault("stores to", shifted(to, offset),
                     ": inputs must stay intact where the rank has no output");
  }
  for (int offset = 0; offset < op.count; ++offset) {
    operands_.clear();
    int repeater = -1;
    for (const auto& from : op.sources) {
      const Cell& cell = cells_[numbering_.at(from, offset)];
      if (cell.value == Expressions::nothing)
        return fault("reads", shifted(from, offset), ", which nothing has written before");
      operands_.push_back(cell.value);
      if (repeater < 0) repeater = cell.repeater;
    }
    const auto value = expressions_.fold(operands_);
    if (repeater < 0 && expressions_.repeated(value)) repeater = index;
    for (const auto& to : op.destinations)
      cells_[numbering_.at(to, offset)] = {value, index, repeater};
  }
  ++next_;
  return std::nullopt;
}

std::optional<std::size_t> SymbolicRun::writer(const Location& location) const {
  const int op = cells_[numbering_.at(location)].writer;
  return op < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(op));
}

std::optional<std::size_t> SymbolicRun::repeater(const Location& location) const {
  const int op = cells_[numbering_.at(location)].repeater;
  return op < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(op));
}

}  // namespace ringside
