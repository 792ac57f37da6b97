// SPDX-License-Identifier: MIT
/// What the builds of the fold kernels have in common: the call they take and their names.
/// Internal. Plain pointers and no functions, because these headers are compiled for several
/// instruction sets (see element.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringside/collectives/reduction/types.hpp"

namespace ringside {

/// `Fold` (fold.hpp) taken apart and checked: k >= 1, m >= 1, elements >= 1, ranks >= 1.
struct KernelCall {
  const std::byte* const* sources;
  std::size_t k;
  std::byte* const* destinations;
  std::size_t m;
  std::size_t elements;
  ElementType type;
  ReduceOp op;
  std::uint64_t raw_mask;  ///< premul_sum only, else 0; as in Fold
  bool all_raw;            ///< premul_sum only, else false
  double scalar;
  int divisor;  ///< the folded value is divided by this; 1 unless an average is completed
  bool streaming;
};

using Kernel = void (*)(const KernelCall&);

/// Shorter runs are stored normally even when asked to stream. Non-temporal stores end with a fence
/// that waits until they have left the core, which a short run cannot amortise. Measured (Zen 4,
/// float32, three buffers of 32 MiB walked in such runs, k = 2, m = 1): at 2 KiB streaming is 0.7
/// times as fast as not, at 4 KiB 1.1, at 8 KiB 1.5, from 64 KiB on 1.1 to 1.2.
inline constexpr std::size_t streaming_threshold_bytes = 8192;

namespace isa_baseline {
void run(const KernelCall& call);
}
namespace isa_avx2 {
void run(const KernelCall& call);
}
namespace isa_avx512 {
void run(const KernelCall& call);
}

}  // namespace ringside
