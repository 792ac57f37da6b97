// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/checks.hpp"

#include <cstring>
#include <utility>

#include "ringside/collectives/executors/program_parts.hpp"
#include "ringside/collectives/lower.hpp"
#include "ringside/collectives/reduction/checksum.hpp"

namespace ringside::host {
namespace {

using Sum = std::uint64_t;

void tamper(int rank, std::size_t op, std::byte* data, std::size_t bytes) {
  if (const Tampering with = tampering().load(std::memory_order_acquire))
    with(rank, op, data, bytes);
}

}  // namespace

std::atomic<Tampering>& tampering() {
  static std::atomic<Tampering> with{nullptr};
  return with;
}

std::size_t Checks::bytes() const {
  return sizeof(Checks) + runs.capacity() * sizeof(Checked) + sums.capacity() * sizeof(Address) +
         (inputs.capacity() + outputs.capacity()) * sizeof(Chunk);
}

// --- made along with a program -------------------------------------------------------------------

CheckBinder::CheckBinder(const Plan& plan, const Schedule& schedule, const Binding& binding,
                         const FoldShape& values, int rank)
    : plan_(plan),
      binding_(binding),
      custody_(plan, schedule, values),
      rank_(rank),
      slices_(static_cast<std::size_t>(plan.shape().slices)) {
  checks_.element_bytes = size_of(values.type);
}

std::size_t CheckBinder::table_of(int rank) const {
  const std::size_t slots = binding_.length(rank, Buffer::scratch) * checks_.element_bytes;
  return (slots + sizeof(Sum) - 1) / sizeof(Sum) * sizeof(Sum);
}

std::size_t CheckBinder::scratch_bytes(int rank) const {
  return table_of(rank) + custody_.made_by(rank) * slices_ * sizeof(Sum);
}

Address CheckBinder::sum_of(const Value& value, int slice) const {
  return {base_index(value.rank, Buffer::scratch),
          table_of(value.rank) +
              (value.number * slices_ + static_cast<std::size_t>(slice)) * sizeof(Sum)};
}

void CheckBinder::add_run(std::size_t op, int offset, int slice) {
  checks_.runs.push_back({number_in_program(checks_.sums.size()), offset, custody_.part(op)});
  const Op view = plan_.op(op);
  // Of a message that is to be received nobody here knows the sum.
  const bool receives = is_wire(plan_, view.sources.front());
  for (std::size_t source = 0; source < view.sources.size(); ++source)
    checks_.sums.push_back(receives ? Address{}
                                    : sum_of(custody_.source(op, source, offset), slice));
  checks_.sums.push_back(sum_of(custody_.result(op, offset), slice));
}

Checks CheckBinder::finish() {
  add_chunks(Buffer::input, checks_.inputs);
  add_chunks(Buffer::output, checks_.outputs);
  return std::move(checks_);
}

void CheckBinder::add_chunks(Buffer buffer, std::vector<Checks::Chunk>& chunks) const {
  for_each_chunk(plan_, rank_, buffer, [&](const Location& location) {
    const Value value =
        buffer == Buffer::input ? custody_.input(location) : custody_.last(location);
    for (int slice = 0; slice < plan_.shape().slices; ++slice) {
      const Extent extent = binding_.extent(location, 0, slice);
      if (extent.length == 0) continue;
      chunks.push_back({location,
                        {base_index(rank_, buffer), extent.offset * checks_.element_bytes},
                        sum_of(value, slice),
                        extent.length * checks_.element_bytes});
    }
  });
}

// --- in a call -----------------------------------------------------------------------------------

void Checker::sum_inputs() const {
  for (const Checks::Chunk& chunk : checks_.inputs) {
    const Sum sum = checksum_of(place(chunk.at), chunk.bytes);
    std::memcpy(place(chunk.sum), &sum, sizeof(sum));
  }
}

void Checker::compare_outputs() const {
  const std::size_t end = program_.compiled->plan.size();
  for (const Checks::Chunk& chunk : checks_.outputs) {
    tamper(rank_, end, place(chunk.at), chunk.bytes);
    compare(chunk.at, chunk.bytes, chunk.sum, end, chunk.location);
  }
}

void Checker::before(const Step& step) const {
  if (step.runs == 0 || part_of(step) == Part::land) return;
  const Op op = program_.compiled->plan.op(step.op);
  for (std::uint32_t i = 0; i < step.runs; ++i) {
    const Run& run = program_.runs[step.first_run + i];
    const Checks::Checked& checked = checks_.runs[step.first_run + i];
    for (std::uint32_t source = 0; source < step.sources; ++source) {
      Location from = op.sources[source];
      from.chunk += checked.offset;
      compare(program_.addresses[run.first_address + source], run.elements * checks_.element_bytes,
              checks_.sums[checked.first_sum + source], step.op, from);
    }
  }
}

void Checker::after(const Step& step) const {
  if (step.runs == 0 || part_of(step) == Part::send) return;
  const bool lands = part_of(step) == Part::land;
  for (std::uint32_t i = 0; i < step.runs; ++i) {
    const Run& run = program_.runs[step.first_run + i];
    const Checks::Checked& checked = checks_.runs[step.first_run + i];
    const Address& at = program_.addresses[run.first_address + step.sources];
    const std::size_t bytes = run.elements * checks_.element_bytes;
    if (!lands) {
      const Sum sum = checksum_of(place(at), bytes);
      std::memcpy(sum_of_result(step, i), &sum, sizeof(sum));
    }
    tamper(rank_, step.op, place(at), bytes);
    if (!lands) continue;
    Location to = program_.compiled->plan.op(step.op).destinations.front();
    to.chunk += checked.offset;
    compare(at, bytes, checks_.sums[checked.first_sum + step.sources], step.op, to);
  }
}

std::byte* Checker::sum_of_result(const Step& step, std::uint32_t run) const {
  return place(checks_.sums[checks_.runs[step.first_run + run].first_sum + step.sources]);
}

void Checker::compare(const Address& at, std::size_t bytes, const Address& sum, std::size_t op,
                      const Location& location) const {
  Sum expected = 0;
  std::memcpy(&expected, place(sum), sizeof(expected));
  if (checksum_of(place(at), bytes) != expected)
    throw corrupted_chunk(program_.compiled->plan, op, location, rank_, call_);
}

}  // namespace ringside::host
