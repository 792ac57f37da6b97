// SPDX-License-Identifier: MIT
/// What the ranks of a peer contribute to the one call that is checked before it is timed, so that
/// a wrong count or a call that is not the one asked for shows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringside/bench/peers/protocol.hpp"

namespace ringside::bench {

/// A rank's memory in a call: `input_blocks` blocks from `input_at` of its input, likewise its
/// output. In place both are one memory, laid out as MPI has it: what a rank keeps stays where it
/// is, and reduce_scatter leaves its result at the start.
struct PeerLayout {
  int input_blocks = 0, output_blocks = 0;  ///< taking part in the call
  int input_at = 0, output_at = 0;          ///< in blocks
  int first_input = 0, input_stride = 1;    ///< which blocks of the request they are
  int first_output = 0, output_stride = 1;

  /// Of the memory for inputs and outputs; in place both are the larger.
  [[nodiscard]] std::uint64_t input_elements(std::uint64_t count) const {
    return static_cast<std::uint64_t>(input_at + input_blocks) * count;
  }
  [[nodiscard]] std::uint64_t output_elements(std::uint64_t count) const {
    return static_cast<std::uint64_t>(output_at + output_blocks) * count;
  }
};

[[nodiscard]] PeerLayout peer_layout(const PeerCommand& command, int ranks, int rank);

/// Writes what `rank` contributes: small numbers that tell ranks, blocks and places apart and whose
/// result is exact in every type. Of long blocks only the head and the tail (4096 elements each);
/// what lies between is left alone.
void write_contributions(const PeerCommand& command, int ranks, int rank, std::byte* input);

/// Spoils the checked part of a rank's output.
void poison_output(const PeerCommand& command, int ranks, int rank, std::byte* output);

/// How many checked elements of a rank's output are not the result.
[[nodiscard]] std::uint64_t wrong_elements(const PeerCommand& command, int ranks, int rank,
                                           const std::byte* output);

/// The number 1, `elements` times.
void fill_with_ones(ElementType type, std::byte* to, std::uint64_t elements);

}  // namespace ringside::bench
