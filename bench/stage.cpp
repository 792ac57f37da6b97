// SPDX-License-Identifier: MIT
#include "ringside/bench/stage.hpp"

#include <algorithm>

#include "ringside/bench/operation.hpp"
#include "ringside/collectives/layout.hpp"

namespace ringside::bench {

CallShape call_shape(const Request& request, int rank, std::size_t count) {
  const auto input = blocks_in(request, rank, Buffer::input);
  const auto output = blocks_in(request, rank, Buffer::output);
  CallShape shape;
  shape.input = static_cast<std::size_t>(input.count) * count;
  shape.output = static_cast<std::size_t>(output.count) * count;
  const auto shared = request.in_place ? shared_block(input, output) : std::nullopt;
  if (!shared) return shape;
  // One of the two begins where the memory does.
  shape.input_at = static_cast<std::size_t>(output.position(*shared)) * count;
  shape.output_at = static_cast<std::size_t>(input.position(*shared)) * count;
  shape.shared = true;
  return shape;
}

RankBytes rank_bytes(const Request& what, int rank, std::size_t bytes, const BenchRequest& request,
                     std::size_t more) {
  const auto blocks =
      has_block_per_rank(what.collective) ? static_cast<std::size_t>(what.ranks) : 1;
  RankBytes sizes;
  for (const auto placement : placements) {
    if (!request.measured[static_cast<std::size_t>(placement)]) continue;
    const bool in_place = placement == Placement::in_place;
    if (in_place && !can_be_in_place(what.collective)) continue;
    Request placed = what;
    placed.in_place = in_place;
    const CallShape shape = call_shape(placed, rank, bytes / blocks);
    if (!in_place) sizes.input = shape.input + more;
    sizes.output = std::max(sizes.output, shape.memory(in_place) + more);
  }
  return sizes;
}

Stage::Stage(std::shared_ptr<Team> team, const Request& what, std::optional<Seconds> timeout,
             StageMode mode)
    : team_(std::move(team)), what_(what), timeout_(timeout), mode_(std::move(mode)) {}

Request Stage::request(Placement placement) const {
  Request request = what_;
  request.in_place = placement == Placement::in_place;
  return request;
}

void Stage::gather(std::vector<std::vector<double>>& by_rank) {
  if (team_->ranks_here() == team_->size()) return;
  const std::vector<double> mine = by_rank[static_cast<std::size_t>(team_->first_rank_here())];
  std::vector<double> all(mine.size() * by_rank.size());
  team_->each([&](Communicator& communicator) {
    communicator.all_gather(std::span(mine), std::span(all));
  });
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(rank * mine.size());
    by_rank[rank].assign(begin, begin + static_cast<std::ptrdiff_t>(mine.size()));
  }
}

void Stage::gather(std::vector<std::uint64_t>& by_rank) {
  if (team_->ranks_here() == team_->size()) return;
  const std::uint64_t mine = by_rank[static_cast<std::size_t>(team_->first_rank_here())];
  team_->each([&](Communicator& communicator) {
    communicator.all_gather(std::span(&mine, 1), std::span(by_rank));
  });
}

const CheckedData& Stage::checked_data(ElementType type, ReduceOp op) {
  odd_check_ = !odd_check_;
  const std::uint64_t seed = odd_check_ ? 1 : 2;
  return checked_data_.try_emplace({type, op, odd_check_}, what_, type, op, seed).first->second;
}

}  // namespace ringside::bench
