// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/checks.hpp"

#include <cstring>
#include <utility>

#include "ringside/collectives/executors/program_parts.hpp"

namespace ringside::cuda {
namespace {

using Sum = std::uint64_t;

}  // namespace

CheckBinder::CheckBinder(const Plan& plan, const Schedule& schedule, const FoldShape& values)
    : plan_(plan), custody_(plan, schedule, values) {
  const auto slices = static_cast<std::size_t>(plan.shape().slices);
  for (int rank = 0; rank < plan.ranks(); ++rank)
    checks_.sums.push_back(number_in_program(custody_.made_by(rank) * slices));
  checks_.inputs.resize(checks_.sums.size());
  checks_.outputs.resize(checks_.sums.size());
}

Value CheckBinder::sum_of(const Value& value, int slice) const {
  return {value.rank, value.number * static_cast<std::uint32_t>(plan_.shape().slices) +
                          static_cast<std::uint32_t>(slice)};
}

Checks::Task CheckBinder::found(int rank, const Value& value, int slice, std::size_t op,
                                const Location& at, const Address& address, std::size_t bytes) {
  const std::uint32_t sum = checks_.sums[static_cast<std::size_t>(rank)]++;
  checks_.comparisons.push_back({{rank, sum}, sum_of(value, slice), op, at});
  return {address, bytes, sum};
}

void CheckBinder::add_run(std::size_t op, int offset, int slice, std::span<const Address> addresses,
                          std::size_t bytes) {
  const Op view = plan_.op(op);
  const Part part = custody_.part(op);
  const auto chunk_of = [&](Location location) {
    location.chunk += offset;
    return location;
  };
  const std::size_t sources = view.sources.size();
  if (part != Part::land)
    for (std::size_t i = 0; i < sources; ++i)
      before_.push_back(found(view.rank, custody_.source(op, i, offset), slice, op,
                              chunk_of(view.sources[i]), addresses[i], bytes));
  const Value result = custody_.result(op, offset);
  if (part == Part::fold)
    after_.push_back({addresses[sources], bytes, sum_of(result, slice).number});
  if (part == Part::land)
    after_.push_back(found(view.rank, result, slice, op, chunk_of(view.destinations.front()),
                           addresses[sources], bytes));
}

void CheckBinder::end_step() {
  checks_.steps.push_back({number_in_program(checks_.tasks.size()),
                           number_in_program(before_.size()), number_in_program(after_.size())});
  for (auto* tasks : {&before_, &after_}) {
    checks_.tasks.insert(checks_.tasks.end(), tasks->begin(), tasks->end());
    tasks->clear();
  }
}

void CheckBinder::add_end(const Location& location, int slice, const Address& at,
                          std::size_t bytes) {
  const auto rank = static_cast<std::size_t>(location.rank);
  if (location.buffer == Buffer::input) {
    checks_.inputs[rank].push_back({at, bytes, sum_of(custody_.input(location), slice).number});
  } else {
    checks_.outputs[rank].push_back(
        found(location.rank, custody_.last(location), slice, plan_.size(), location, at, bytes));
  }
}

Checks CheckBinder::finish(std::vector<std::size_t>& scratch) {
  for (std::size_t rank = 0; rank < scratch.size(); ++rank) {
    checks_.tables.push_back((scratch[rank] + sizeof(Sum) - 1) / sizeof(Sum) * sizeof(Sum));
    scratch[rank] = checks_.tables.back() + checks_.sums[rank] * sizeof(Sum);
  }
  return std::move(checks_);
}

std::byte* SumTables::of(int rank, std::size_t sums) {
  PinnedMemory& table = tables_[static_cast<std::size_t>(rank)];
  if (table.size() < sums * sizeof(Sum)) table = PinnedMemory::of(sums * sizeof(Sum));
  return table.data();
}

std::uint64_t SumTables::sum(const Value& value) const {
  Sum sum = 0;
  std::memcpy(&sum,
              tables_[static_cast<std::size_t>(value.rank)].data() + value.number * sizeof(Sum),
              sizeof(Sum));
  return sum;
}

std::optional<Error> SumTables::difference(const Program& program, std::uint64_t call) const {
  for (const Checks::Comparison& each : program.checks->comparisons)
    if (sum(each.found) != sum(each.made))
      return corrupted_chunk(program.compiled->plan, each.op, each.at, each.found.rank, call);
  return std::nullopt;
}

}  // namespace ringside::cuda
