// SPDX-License-Identifier: MIT
/// The message sizes of a sweep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringside::bench {

/// nccl-tests' -b, -e, -f and -i: from `begin` to `end` bytes, each `factor` times the one before,
/// or, with a factor of 0 or 1, `step` bytes more.
struct SizeRange {
  std::uint64_t begin = 8;
  std::uint64_t end = std::uint64_t{64} << 20;
  std::uint64_t factor = 8;
  std::uint64_t step = 0;
};

/// The sizes, ascending; at least one. Throws Error(bad_input) when the end lies before the
/// beginning, a step would never get there, or there would be more than 10,000 sizes.
[[nodiscard]] std::vector<std::uint64_t> sizes_of(const SizeRange& range);

}  // namespace ringside::bench
