// SPDX-License-Identifier: MIT
#include "ringside/collectives/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "ringside/base/error.hpp"

namespace ringside {

Builder::Builder(const Request& request, const Shape& shape, int natural_lanes)
    : request_(request),
      shape_(shape),
      natural_lanes_(natural_lanes),
      chunks_(block_count(request) * shape.chunks_per_block),
      running_slots_(static_cast<std::size_t>(request.ranks)),
      slots_(static_cast<std::size_t>(request.ranks)) {
  const int cut = shape.chunks_per_block;
  std::size_t flags = 0;
  for (int rank = 0; rank < request.ranks; ++rank) {
    const BlockRange blocks = blocks_in(request, rank, Buffer::output);
    const bool apart = blocks.stride > 1;
    const Held held{blocks.first * cut, apart ? cut : blocks.count * cut,
                    apart ? blocks.stride * cut : chunks_ + 1, apart ? blocks.count : 1, flags};
    held_.push_back(held);
    flags += static_cast<std::size_t>(held.length) * static_cast<std::size_t>(held.runs);
  }
  stored_.resize(flags);
}

void Builder::check_run(int rank, int chunk, int count) const {
  if (rank < 0 || rank >= request_.ranks || chunk < 0 || count < 1 || count > chunks_ - chunk)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("an op stores {} chunks from chunk {} at rank {}: there are {} chunks "
                            "and {} ranks",
                            count, chunk, rank, chunks_, request_.ranks));
}

std::optional<std::size_t> Builder::flag(int rank, int chunk) const {
  const Held& held = held_[static_cast<std::size_t>(rank)];
  const int distance = chunk - held.first;
  if (distance < 0) return std::nullopt;
  if (distance < held.length) return held.flags + static_cast<std::size_t>(distance);
  const int run = distance / held.period;
  const int within = distance % held.period;
  if (run >= held.runs || within >= held.length) return std::nullopt;
  return held.flags + static_cast<std::size_t>(run * held.length + within);
}

Builder::RunningSlot* Builder::running_slot(int rank, int chunk) {
  auto& slots = running_slots_[static_cast<std::size_t>(rank)];
  auto after = slots.upper_bound(chunk);
  if (after == slots.begin()) return nullptr;
  auto& [first, slot] = *std::prev(after);
  return chunk < first + slot.count ? &slot : nullptr;
}

Location Builder::running(int rank, int chunk) {
  if (const auto f = flag(rank, chunk); f && stored_[*f] != 0)
    return {rank, Buffer::output, 0, chunk};
  if (const RunningSlot* slot = running_slot(rank, chunk); slot != nullptr && slot->stored)
    return {rank, Buffer::scratch, slot->slot, chunk};
  return {rank, Buffer::input, 0, chunk};
}

Location Builder::next(int rank, int chunk, int count) {
  check_run(rank, chunk, count);
  const auto first = flag(rank, chunk);
  const auto last = flag(rank, chunk + count - 1);
  if (first && last && *last - *first == static_cast<std::size_t>(count - 1))
    return {rank, Buffer::output, 0, chunk};
  if (const RunningSlot* slot = running_slot(rank, chunk);
      slot != nullptr && slot == running_slot(rank, chunk + count - 1))
    return {rank, Buffer::scratch, slot->slot, chunk};
  auto& slots = running_slots_[static_cast<std::size_t>(rank)];
  const auto after = slots.lower_bound(chunk);
  if (running_slot(rank, chunk) != nullptr ||
      (after != slots.end() && after->first < chunk + count))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("rank {} keeps chunks {} to {} in several runs of scratch", rank, chunk,
                            chunk + count - 1));
  const int slot = new_slot(rank, chunk, count);
  slots.emplace(chunk, RunningSlot{count, slot, false});
  return {rank, Buffer::scratch, slot, chunk};
}

int Builder::new_slot(int rank, int chunk, int count) {
  auto& slots = slots_[static_cast<std::size_t>(rank)];
  slots.push_back({chunk, count, ScratchSlot::Place::device});
  return static_cast<int>(slots.size()) - 1;
}

void Builder::mark_stored(const Location& location, int count) {
  check_run(location.rank, location.chunk, count);
  if (location.buffer == Buffer::output) {
    for (int chunk = location.chunk; chunk < location.chunk + count; ++chunk)
      if (const auto f = flag(location.rank, chunk)) stored_[*f] = 1;
  } else if (location.buffer == Buffer::scratch) {
    RunningSlot* slot = running_slot(location.rank, location.chunk);
    if (slot != nullptr && slot->slot == location.slot) slot->stored = true;
  }
}

int Builder::lane_for(int natural_lane, int chunk) const {
  // More lanes than the algorithm tells apart: its phases are dealt out again by chunk.
  const int copies = shape_.lanes / natural_lanes_;
  if (copies < 1) return natural_lane % shape_.lanes;
  return natural_lane + natural_lanes_ * (chunk % copies);
}

Group::Group(Builder& builder) : builder_(&builder), chunks_(builder.chunks_) {
  std::vector<int> all(static_cast<std::size_t>(builder.request_.ranks));
  std::iota(all.begin(), all.end(), 0);
  members_ = std::make_shared<const std::vector<int>>(std::move(all));
}

void Group::reject(const char* what, int number, int count) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("there is no {0} {1} in a group of {2} {0}s", what, number, count));
}

Group Group::among(const std::vector<int>& ranks) const {
  std::vector<int> members;
  members.reserve(ranks.size());
  for (const int rank : ranks) members.push_back(global_rank(rank));
  Group group = *this;
  group.members_ = std::make_shared<const std::vector<int>>(std::move(members));
  return group;
}

Group Group::part(int first, int count, int parts) const {
  if (count < 1 || first < 0 || count > chunks_ - first)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} chunks from chunk {} of a group of {}", count, first, chunks_));
  if (parts < 1 || count % parts != 0)
    throw Error(ErrorCode::internal, fmt::format("{} chunks cut in {} parts", count, parts));
  Group group = *this;
  group.first_chunk_ = global_chunk(first);
  group.chunks_ = parts;
  group.unit_ = unit_ * (count / parts);
  return group;
}

Group Group::on_lane(int lane) const {
  Group group = *this;
  if (!lane_fixed_) group.lane_ = lane;
  return group;
}

Group Group::on_fixed_lane(int lane) const {
  Group group = on_lane(lane);
  group.lane_fixed_ = true;
  return group;
}

Location Group::cur(int rank, int chunk) const {
  return builder_->running(global_rank(rank), global_chunk(chunk));
}

Location Group::next(int rank, int chunk, int count) const {
  return builder_->next(global_rank(rank), global_chunk(chunk), count * unit_);
}

Location Group::input(int rank, int chunk) const {
  return {global_rank(rank), Buffer::input, 0, global_chunk(chunk)};
}

Location Group::output(int rank, int chunk) const {
  return {global_rank(rank), Buffer::output, 0, global_chunk(chunk)};
}

int Group::new_slot(int rank, int first, int count) const {
  return builder_->new_slot(global_rank(rank), global_chunk(first), count * unit_);
}

Location Group::scratch(int rank, int slot, int chunk) const {
  return {global_rank(rank), Buffer::scratch, slot, global_chunk(chunk)};
}

Op Group::combine(int at, int first, int second, int chunk, int count) const {
  return add(at, cur(first, chunk), cur(second, chunk), next(at, chunk, count), count);
}

Op Group::copy(int from, int to, int chunk, int count) const {
  return store(to, cur(from, chunk), next(to, chunk, count), count);
}

Op Group::push(int from, int to, int chunk, int count) const {
  return store(from, cur(from, chunk), next(to, chunk, count), count);
}

Op Group::store(int rank, const Location& from, const Location& to, int count) const {
  builder_->sources_.assign(1, from);
  builder_->destinations_.assign(1, to);
  return finish(rank, count);
}

Op Group::add(int rank, const Location& first, const Location& second, const Location& to,
              int count) const {
  builder_->sources_.assign({first, second});
  builder_->destinations_.assign(1, to);
  return finish(rank, count);
}

Op Group::op(int rank, std::span<const Location> sources, std::span<const Location> destinations,
             int count) const {
  builder_->sources_.assign(sources.begin(), sources.end());
  builder_->destinations_.assign(destinations.begin(), destinations.end());
  return finish(rank, count);
}

Op Group::finish(int rank, int count) const {
  if (builder_->sources_.empty())
    throw Error(ErrorCode::invalid_argument, fmt::format("an op of rank {} reads nothing", rank));
  const int chunks = count * unit_;
  const int first = builder_->sources_.front().chunk;
  for (const auto& destination : builder_->destinations_)
    builder_->mark_stored(destination, chunks);
  return {global_rank(rank), builder_->lane_for(lane_, first), chunks, builder_->sources_,
          builder_->destinations_};
}

}  // namespace ringside
