// SPDX-License-Identifier: MIT
/// Where the bytes of a location are, once the call's block lengths are known.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ringside/collectives/plan.hpp"

namespace ringside {

/// Offsets and lengths, in elements, of every chunk and slice in every buffer of a plan for one
/// set of block lengths.
class Binding {
 public:
  /// `block_elements[block]`: the length of every block of the request. Throws
  /// Error(invalid_argument) if there are not as many as the request has blocks.
  Binding(const Plan& plan, std::span<const std::size_t> block_elements);

  /// The same as if the plan had one slice: what the reference interpreter uses.
  [[nodiscard]] static Binding unsliced(const Plan& plan,
                                        std::span<const std::size_t> block_elements);

  /// Where slice `slice` of a location's chunk lies in its buffer. In scratch, a slot holds
  /// `depth` slices, and slice s lies in the place of s mod depth.
  [[nodiscard]] Extent extent(const Location& location, int offset, int slice) const;

  /// Length of a rank's buffer in elements (of all its scratch slots for scratch).
  [[nodiscard]] std::size_t length(int rank, Buffer buffer) const;

  /// Elements of a chunk, all slices together.
  [[nodiscard]] std::size_t chunk_length(int chunk) const;

 private:
  struct Slot {
    std::size_t offset = 0;  // of the slot in the rank's scratch
    std::size_t pitch = 0;   // from one held slice to the next
    int first_chunk = 0;
    std::vector<std::size_t> chunk_offset;  // within a held slice
  };
  Binding(const Plan& plan, std::span<const std::size_t> block_elements, const Shape& shape);
  void place_scratch(std::span<const ScratchSlot> slots);

  Request request_;
  Shape shape_;
  std::vector<std::size_t> blocks_;  // lengths
  // [rank][position]: where each block begins; one entry more for the buffer's end
  std::vector<std::vector<std::size_t>> input_offsets_, output_offsets_;
  std::vector<std::vector<Slot>> slots_;  // [rank][slot]
  std::vector<std::size_t> scratch_length_;
};

}  // namespace ringside
