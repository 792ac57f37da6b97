// SPDX-License-Identifier: MIT
#include "ringside/collectives/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ringside/base/error.hpp"

namespace ringside {

Builder::Builder(const Request& request, const Shape& shape, int natural_lanes)
    : request_(request),
      shape_(shape),
      natural_lanes_(natural_lanes),
      chunks_(block_count(request) * shape.chunks_per_block),
      stored_(static_cast<std::size_t>(request.ranks) * static_cast<std::size_t>(chunks_)),
      slots_(static_cast<std::size_t>(request.ranks)) {}

bool Builder::stored(int rank, int chunk) const {
  return stored_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(chunks_) +
                 static_cast<std::size_t>(chunk)] != 0;
}

void Builder::mark_stored(int rank, int chunk, int count) {
  if (rank < 0 || rank >= request_.ranks || chunk < 0 || count < 1 || count > chunks_ - chunk)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("an op stores {} chunks from chunk {} at rank {}: there are {} chunks "
                            "and {} ranks",
                            count, chunk, rank, chunks_, request_.ranks));
  const auto first = stored_.begin() + static_cast<std::ptrdiff_t>(rank) * chunks_ + chunk;
  std::fill(first, first + count, std::uint8_t{1});
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
  const int r = global_rank(rank);
  const int c = global_chunk(chunk);
  return {r, builder_->stored(r, c) ? Buffer::output : Buffer::input, 0, c};
}

Location Group::input(int rank, int chunk) const {
  return {global_rank(rank), Buffer::input, 0, global_chunk(chunk)};
}

Location Group::output(int rank, int chunk) const {
  return {global_rank(rank), Buffer::output, 0, global_chunk(chunk)};
}

int Group::new_slot(int rank, int first, int count) const {
  auto& slots = builder_->slots_[static_cast<std::size_t>(global_rank(rank))];
  slots.push_back({global_chunk(first), count * unit_, ScratchSlot::Place::device});
  return static_cast<int>(slots.size()) - 1;
}

Location Group::scratch(int rank, int slot, int chunk) const {
  return {global_rank(rank), Buffer::scratch, slot, global_chunk(chunk)};
}

Op Group::combine(int at, int first, int second, int chunk, int count) const {
  return add(at, cur(first, chunk), cur(second, chunk), output(at, chunk), count);
}

Op Group::copy(int from, int to, int chunk, int count) const {
  return store(to, cur(from, chunk), output(to, chunk), count);
}

Op Group::push(int from, int to, int chunk, int count) const {
  return store(from, cur(from, chunk), output(to, chunk), count);
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
    if (destination.buffer == Buffer::output)
      builder_->mark_stored(destination.rank, destination.chunk, chunks);
  return {global_rank(rank), builder_->lane_for(lane_, first), chunks, builder_->sources_,
          builder_->destinations_};
}

}  // namespace ringside
