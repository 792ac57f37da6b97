// SPDX-License-Identifier: MIT
#include "ringside/bench/peers/contributions.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "ringside/bench/block_timer.hpp"
#include "ringside/bench/peers/number_type.hpp"
#include "ringside/collectives/layout.hpp"

namespace ringside::bench {
namespace {

/// Elements checked at either end of a block: an off-by-one count and a wrong offset show there.
constexpr std::uint64_t checked_elements = 4096;

Request request_of(const PeerCommand& command, int ranks) {
  return {.collective = command.collective,
          .ranks = ranks,
          .root = command.root,
          .in_place = command.placement == Placement::in_place};
}

/// Block `block`, element `index` of what `rank` contributes where all ranks contribute: 1 or 2, so
/// that sums and products of many ranks fit the narrowest type.
int shared_contribution(int rank, int block, std::uint64_t index) {
  const std::uint64_t mixed = (index + 1) * 0x9e3779b97f4a7c15U +
                              static_cast<std::uint64_t>(rank) * 0xc2b2ae3d27d4eb4fU +
                              static_cast<std::uint64_t>(block) * 0x165667b19e3779f9U;
  return 1 + static_cast<int>((mixed ^ (mixed >> 29)) >> 40 & 1);
}

/// Where one rank alone contributes: 1 to 101.
int sole_contribution(int block, std::uint64_t index) {
  return 1 + static_cast<int>((static_cast<std::uint64_t>(block) * 7 + index) % 101);
}

template <class T>
T fold(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::prod:
      return static_cast<T>(a * b);
    case ReduceOp::max:
      return std::max(a, b);
    case ReduceOp::min:
      return std::min(a, b);
    default:
      return static_cast<T>(a + b);
  }
}

template <class T>
T expected(const Request& request, ReduceOp op, int block, std::uint64_t index) {
  if (sole_contributor(request, block)) return static_cast<T>(sole_contribution(block, index));
  T result = static_cast<T>(shared_contribution(0, block, index));
  for (int rank = 1; rank < request.ranks; ++rank)
    result = fold(op, result, static_cast<T>(shared_contribution(rank, block, index)));
  return result;
}

/// The head and the tail, which may touch.
std::array<Extent, 2> checked_runs(std::uint64_t count) {
  const std::uint64_t head = std::min(count, checked_elements);
  const std::uint64_t tail = std::min(count - head, checked_elements);
  return {Extent{0, head}, Extent{count - tail, tail}};
}

/// Calls `use(block, index, byte offset)` for every checked element of the blocks.
template <class Use>
void each_checked(int blocks, int at, int first, int stride, std::uint64_t count,
                  std::size_t element, const Use& use) {
  for (int i = 0; i < blocks; ++i)
    for (const auto& [offset, length] : checked_runs(count))
      for (std::uint64_t index = offset; index < offset + length; ++index)
        use(first + i * stride, index,
            (static_cast<std::uint64_t>(at + i) * count + index) * element);
}

}  // namespace

PeerLayout peer_layout(const PeerCommand& command, int ranks, int rank) {
  const Request request = request_of(command, ranks);
  const BlockRange input = blocks_in(request, rank, Buffer::input);
  const BlockRange output = blocks_in(request, rank, Buffer::output);
  PeerLayout layout{.input_blocks = input.count,
                    .output_blocks = output.count,
                    .first_input = input.first,
                    .input_stride = input.stride,
                    .first_output = output.first,
                    .output_stride = output.stride};
  if (!request.in_place) return layout;
  const bool at_root = rank == command.root;
  if (command.collective == Collective::all_gather ||
      (command.collective == Collective::gather && at_root))
    layout.input_at = rank;
  if (command.collective == Collective::scatter && at_root) layout.output_at = rank;
  return layout;
}

void fill_with_ones(ElementType type, std::byte* to, std::uint64_t elements) {
  with_number_type(type, [&](auto zero) {
    const auto one = static_cast<decltype(zero)>(1);
    fill_with(to, elements, &one, sizeof one);
  });
}

void write_contributions(const PeerCommand& command, int ranks, int rank, std::byte* input) {
  const Request request = request_of(command, ranks);
  const PeerLayout layout = peer_layout(command, ranks, rank);
  with_number_type(command.type, [&](auto zero) {
    using T = decltype(zero);
    each_checked(layout.input_blocks, layout.input_at, layout.first_input, layout.input_stride,
                 command.count, sizeof(T), [&](int block, std::uint64_t index, std::size_t at) {
                   const T value = static_cast<T>(sole_contributor(request, block)
                                                      ? sole_contribution(block, index)
                                                      : shared_contribution(rank, block, index));
                   std::memcpy(input + at, &value, sizeof value);
                 });
  });
}

void poison_output(const PeerCommand& command, int ranks, int rank, std::byte* output) {
  const PeerLayout layout = peer_layout(command, ranks, rank);
  const std::size_t element = size_of(command.type);
  each_checked(
      layout.output_blocks, layout.output_at, 0, 1, command.count, element,
      [&](int, std::uint64_t, std::size_t at) { std::memset(output + at, 0xa5, element); });
}

std::uint64_t wrong_elements(const PeerCommand& command, int ranks, int rank,
                             const std::byte* output) {
  const Request request = request_of(command, ranks);
  const PeerLayout layout = peer_layout(command, ranks, rank);
  std::uint64_t wrong = 0;
  with_number_type(command.type, [&](auto zero) {
    using T = decltype(zero);
    each_checked(layout.output_blocks, layout.output_at, layout.first_output, layout.output_stride,
                 command.count, sizeof(T), [&](int block, std::uint64_t index, std::size_t at) {
                   T value;
                   std::memcpy(&value, output + at, sizeof value);
                   wrong += value == expected<T>(request, command.op, block, index) ? 0 : 1;
                 });
  });
  return wrong;
}

}  // namespace ringside::bench
