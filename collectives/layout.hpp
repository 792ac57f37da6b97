// SPDX-License-Identifier: MIT
/// Which data a collective is about, and where it lies.
///
/// The data of a collective are *blocks*, numbered through the whole request: one block for
/// all_reduce, broadcast and reduce; one per rank where every rank owns a piece; one per pair of
/// ranks (from x n + to) for all_to_all. A rank's input and output hold some of the blocks, one
/// after another. Block lengths come from the call. In place means: where a rank's input and output
/// hold the same block, it is the same memory (for all_gather that is nccl's
/// `send == recv + rank x count`).
///
/// A block is cut in C *chunks* of nearly equal length, and a chunk's number also runs through all
/// blocks: chunk = block x C + index. So one number says what a piece of data *is*, wherever it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ringside/collectives/request.hpp"

namespace ringside {

/// A rank's memory: what the caller passes, and what the executor lends.
enum class Buffer : std::uint8_t { input, output, scratch };

/// "input", "output" or "scratch".
[[nodiscard]] std::string_view to_string(Buffer buffer);

/// Blocks first, first + stride, ... (`count` of them), in the order in which they lie in a buffer.
struct BlockRange {
  int first = 0;   ///< block numbers of the whole request
  int count = 0;   ///< 0: the buffer holds none
  int stride = 1;  ///< the number of ranks for outputs of all_to_all, else 1

  /// The number of the block at an index within the buffer.
  [[nodiscard]] int block(int index) const { return first + index * stride; }
  /// Whether the buffer holds the block.
  [[nodiscard]] bool contains(int block) const {
    const int distance = block - first;
    return distance >= 0 && distance % stride == 0 && distance / stride < count;
  }
  /// Index of a contained block within the buffer.
  [[nodiscard]] int position(int block) const { return (block - first) / stride; }
};

/// Number of blocks of the whole request (0 for barrier).
[[nodiscard]] int block_count(const Request& request);

/// The blocks that `rank` holds in its input or output; none in scratch.
[[nodiscard]] BlockRange blocks_in(const Request& request, int rank, Buffer buffer);

/// The block that a rank holds in its input and in its output, if there is one: in place it is the
/// same memory. (Of two buffers that share a block, one holds nothing else, but for all_to_all,
/// which is never in place and has none here.)
[[nodiscard]] std::optional<int> shared_block(const BlockRange& input, const BlockRange& output);

/// Elements of a block. `lengths`, here and below: one if all blocks of the request are equal, else
/// one a block.
[[nodiscard]] inline std::size_t block_length(std::span<const std::size_t> lengths, int block) {
  return lengths[lengths.size() == 1 ? 0 : static_cast<std::size_t>(block)];
}

/// Elements of the first `count` blocks of a buffer: where the block at that index begins.
[[nodiscard]] std::size_t elements_before(std::span<const std::size_t> lengths,
                                          const BlockRange& held, int count);

/// Elements of a buffer.
[[nodiscard]] inline std::size_t elements_in(std::span<const std::size_t> lengths,
                                             const BlockRange& held) {
  return elements_before(lengths, held, held.count);
}

/// The rank whose input alone makes up the block, or nothing when every rank contributes to it
/// (all_reduce, reduce, reduce_scatter).
[[nodiscard]] std::optional<int> sole_contributor(const Request& request, int block);

/// An offset and a length, in elements.
struct Extent {
  std::size_t offset = 0;
  std::size_t length = 0;
  bool operator==(const Extent&) const = default;
};

/// Part `index` of `length` elements cut in `parts` nearly equal runs: the first `length mod parts`
/// get one more; some may be empty. Blocks are cut in chunks, and chunks in slices, this way.
[[nodiscard]] constexpr Extent part_of(std::size_t length, std::size_t parts, std::size_t index) {
  const std::size_t share = length / parts;
  const std::size_t more = length % parts;
  return {index * share + (index < more ? index : more), share + (index < more ? 1 : 0)};
}

}  // namespace ringside
