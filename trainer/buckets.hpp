// SPDX-License-Identifier: MIT
/// Gradients travel in buckets: few enough calls that each is worth its latency, many enough that
/// the first can leave long before the backward pass ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ringside/trainer/memory.hpp"

namespace ringside::trainer {

/// Tensors that lie one after another, so that their gradients are one run of memory.
struct Bucket {
  std::size_t first = 0, last = 0;  ///< tensors, `last` included
  Extent extent;                    ///< in the flat gradients

  [[nodiscard]] std::size_t tensors() const { return last - first + 1; }
};

struct BucketSizes {
  /// A bucket is full when it has that many bytes; 0: an eighth of all gradients, at most the 25
  /// MiB of PyTorch's DistributedDataParallel.
  std::uint64_t bytes = 0;
  /// The same of the first one to travel; 0: like the others.
  std::uint64_t first_bytes = 0;
};

/// In the order in which they travel: backward passes come from the last tensor to the first.
[[nodiscard]] std::vector<Bucket> make_buckets(const TensorLayout& gradients, ElementType type,
                                               const BucketSizes& sizes);

/// The same for who cuts gradients wherever a bucket is full, be it within a tensor: runs of the
/// memory, of equal length but for the first to travel and the last. By default there are 32, so
/// that a few of them at a time are little memory.
[[nodiscard]] std::vector<Extent> make_runs(std::size_t elements, ElementType type,
                                            const BucketSizes& sizes);

}  // namespace ringside::trainer
