// SPDX-License-Identifier: MIT
#include "ringside/bench/stage.hpp"

#include <algorithm>
#include <cstring>

#include "ringside/base/cache.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/bench/block_timer.hpp"
#include "ringside/bench/machine.hpp"
#include "ringside/bench/volume.hpp"
#include "ringside/collectives/layout.hpp"

namespace ringside::bench {
namespace {

/// The block that a rank holds in its input and in its output, which in place are one.
std::optional<int> block_in_both(const BlockRange& input, const BlockRange& output) {
  for (int i = 0; i < std::min(input.count, output.count); ++i) {
    const BlockRange& shorter = input.count < output.count ? input : output;
    const int block = shorter.first + i * shorter.stride;
    if (input.contains(block) && output.contains(block)) return block;
  }
  return std::nullopt;
}

/// From one cold buffer to the next: another page, which no prefetcher has looked at, and another
/// place in it, so that all sets of the caches are used.
std::size_t cold_step(std::size_t length) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t line = 64;
  return (length + page - 1) / page * page + page + line;
}

bool measures(const BenchRequest& request, Placement placement) {
  return request.measured[static_cast<std::size_t>(placement)];
}

std::size_t pool_of(const BenchRequest& request, int ranks) {
  if (request.buffers != Buffers::cold) return 0;
  if (request.cold_bytes) return *request.cold_bytes;
  return cold_pool(ranks, allowed_cpu_count(), last_cache_bytes());
}

/// Bytes of a rank's two buffers: inputs out of place; outputs, which in place hold both.
struct Capacities {
  std::size_t input = 0, output = 0;
};

Capacities capacities(const Request& what, int rank, std::size_t bytes,
                      const BenchRequest& request) {
  const auto blocks =
      has_block_per_rank(what.collective) ? static_cast<std::size_t>(what.ranks) : 1;
  const std::size_t pool = pool_of(request, what.ranks);
  Capacities capacities;
  for (const auto placement : placements) {
    if (!measures(request, placement)) continue;
    const bool in_place = placement == Placement::in_place;
    if (in_place && !can_be_in_place(what.collective)) continue;
    Request placed = what;
    placed.in_place = in_place;
    const CallShape shape = call_shape(placed, rank, bytes / blocks);
    if (!in_place) capacities.input = shape.input + pool;
    capacities.output = std::max(capacities.output, shape.memory(in_place) + pool);
  }
  return capacities;
}

}  // namespace

std::size_t cold_pool(int ranks, int cores, std::uint64_t last_cache) {
  const auto n = static_cast<std::uint64_t>(ranks);
  return 2 * last_cache * std::min(n, static_cast<std::uint64_t>(cores)) / n;
}

CallShape call_shape(const Request& request, int rank, std::size_t count) {
  const auto input = blocks_in(request, rank, Buffer::input);
  const auto output = blocks_in(request, rank, Buffer::output);
  CallShape shape;
  shape.input = static_cast<std::size_t>(input.count) * count;
  shape.output = static_cast<std::size_t>(output.count) * count;
  const auto shared = request.in_place ? block_in_both(input, output) : std::nullopt;
  if (!shared) return shape;
  // One of the two begins where the memory does.
  shape.input_at = static_cast<std::size_t>(output.position(*shared)) * count;
  shape.output_at = static_cast<std::size_t>(input.position(*shared)) * count;
  shape.shared = true;
  return shape;
}

Stage::Stage(const Request& what, std::size_t bytes, const BenchRequest& request)
    : team_(what.ranks, request.pin),
      what_(what),
      pool_(pool_of(request, what.ranks)),
      timeout_(request.timeout) {
  const auto n = static_cast<std::size_t>(what.ranks);
  inputs_.resize(n);
  outputs_.resize(n);
  turns_.resize(n);
  team_.each([&](Communicator& communicator) {
    const int rank = communicator.rank();
    const auto i = static_cast<std::size_t>(rank);
    const auto [input, output] = capacities(what, rank, bytes, request);
    for (const auto& [buffer, size] :
         {std::pair{&inputs_[i], input}, std::pair{&outputs_[i], output}}) {
      *buffer = PageBuffer(size);
      std::memset(buffer->data(), 0, buffer->size());
    }
  });
}

std::uint64_t Stage::bytes_needed(const Request& what, std::size_t bytes,
                                  const BenchRequest& request) {
  double sum = 0;  // a sum of sizes that do not exist must not wrap
  for (int rank = 0; rank < what.ranks; ++rank) {
    const auto [input, output] = capacities(what, rank, bytes, request);
    sum += static_cast<double>(input) + static_cast<double>(output);
  }
  return static_cast<std::uint64_t>(std::min(sum, 0x1p63));
}

Request Stage::request(Placement placement) const {
  Request request = what_;
  request.in_place = placement == Placement::in_place;
  return request;
}

Stage::Memory Stage::memory(int rank, Placement placement, const CallShape& shape,
                            std::size_t element_bytes, std::uint64_t turn) {
  const auto i = static_cast<std::size_t>(rank);
  const bool in_place = placement == Placement::in_place;
  const auto place = [&](const PageBuffer& buffer, std::size_t length) {
    if (pool_ == 0) return buffer.data();
    const std::size_t step = cold_step(length * element_bytes);
    return buffer.data() + turn % (pool_ / step + 1) * step;
  };
  std::byte* const output = place(outputs_[i], shape.memory(in_place));
  std::byte* const input = in_place ? output : place(inputs_[i], shape.input);
  return {input + shape.input_at * element_bytes, output + shape.output_at * element_bytes};
}

void Stage::fill_with_ones(ElementType type, std::uint64_t count) {
  const std::size_t element = size_of(type);
  const std::uint64_t one = bits_of_one(type);
  const bool whole_pool = pool_ > 0 && pool_type_ != type;
  team_.each([&](Communicator& communicator) {
    const int rank = communicator.rank();
    const auto i = static_cast<std::size_t>(rank);
    for (const auto placement : placements) {
      if (placement == Placement::in_place && !can_be_in_place(what_.collective)) continue;
      const bool in_place = placement == Placement::in_place;
      const CallShape shape = call_shape(request(placement), rank, count);
      for (const auto& [buffer, length] : {std::pair{&inputs_[i], in_place ? 0 : shape.input},
                                           std::pair{&outputs_[i], shape.memory(in_place)}}) {
        const std::size_t held = buffer->size() / element;
        fill_with(buffer->data(), whole_pool ? held : std::min(length, held), &one, element);
      }
    }
  });
  pool_type_ = type;
}

const CheckedData& Stage::checked_data(ElementType type, ReduceOp op) {
  odd_check_ = !odd_check_;
  const std::uint64_t seed = odd_check_ ? 1 : 2;
  return checked_data_.try_emplace({type, op, odd_check_}, what_, type, op, seed).first->second;
}

}  // namespace ringside::bench
