// SPDX-License-Identifier: MIT
/// What the builds of the kernels have in common: the resolved fold and their names. Internal.
/// Plain data and no functions, because this is compiled for several instruction sets (see
/// element.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringside/collectives/reduction/types.hpp"

namespace ringside {

struct ResolvedFold;

/// Folds `elements` >= 1 elements of resolved.k sources, from `skip` bytes behind their addresses
/// on, into resolved.m destinations, from their addresses on.
using FoldFunction = void (*)(const ResolvedFold& resolved, const std::byte* const* sources,
                              std::byte* const* destinations, std::size_t elements,
                              std::size_t skip);

/// `FoldShape` (fold.hpp) taken apart and checked, with the functions chosen for it.
struct ResolvedFold {
  FoldFunction run = nullptr;  ///< what to call, with skip 0
  /// The arithmetic in one pass, if `run` is a way around it (blocks); to any m destinations.
  FoldFunction pass = nullptr;
  /// The same to one destination, whatever m.
  FoldFunction pass_to_one = nullptr;
  /// Whole lines past the caches, from `skip` bytes behind all addresses on; null if there is none.
  FoldFunction pass_streaming = nullptr;
  /// What is left of a line, from `skip` bytes behind all addresses on.
  FoldFunction pass_skipping = nullptr;
  /// Divides elements in place by `divisor`, where a pass does not: integers.
  void (*divide)(std::byte* elements, std::size_t n, int divisor) = nullptr;
  std::size_t k = 1;
  std::size_t m = 1;
  std::size_t element_bytes = 1;
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  std::uint64_t raw_mask = 0;  ///< premul_sum only, else 0; no bits beyond source k - 1
  bool all_raw = false;        ///< premul_sum only, else false
  bool streaming = false;
  int divisor = 1;  ///< the folded value is divided by this; 1 unless an average is completed
  double scalar = 1.0;
};

/// Fills in the functions and `element_bytes`.
using Resolve = void (*)(ResolvedFold& resolved);

/// What of a checksum is summed at once.
inline constexpr std::size_t checksum_block_bytes = 64;
/// Sum of x_i (2 i + 1) (checksum.hpp) over `blocks` whole blocks; 0 if there is none.
using ChecksumOfBlocks = std::uint64_t (*)(const std::byte* data, std::size_t blocks);

/// Shorter runs are stored normally even when asked to stream. Non-temporal stores end with a fence
/// that waits until they have left the core, which a short run cannot amortise. Measured (Zen 4,
/// float32, three buffers of 32 MiB walked in such runs, k = 2, m = 1): at 2 KiB streaming is 0.7
/// times as fast as not, at 4 KiB 1.1, at 8 KiB 1.5, from 64 KiB on 1.1 to 1.2.
inline constexpr std::size_t streaming_threshold_bytes = 8192;

namespace isa_baseline {
void resolve(ResolvedFold& resolved);
std::uint64_t checksum_of_blocks(const std::byte* data, std::size_t blocks);
}  // namespace isa_baseline
namespace isa_avx2 {
void resolve(ResolvedFold& resolved);
std::uint64_t checksum_of_blocks(const std::byte* data, std::size_t blocks);
}  // namespace isa_avx2
namespace isa_avx512 {
void resolve(ResolvedFold& resolved);
std::uint64_t checksum_of_blocks(const std::byte* data, std::size_t blocks);
}  // namespace isa_avx512

}  // namespace ringside
