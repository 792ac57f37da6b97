// SPDX-License-Identifier: MIT
/// How many bytes an op of a slice moves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/plan.hpp"

namespace ringside::simulated {

class SliceBytes {
 public:
  /// `block_elements` must outlive it.
  SliceBytes(const Shape& shape, std::span<const std::size_t> block_elements,
             std::size_t element_bytes)
      : parts_(static_cast<std::size_t>(shape.chunks_per_block)),
        slices_(static_cast<std::size_t>(shape.slices)),
        block_elements_(block_elements),
        element_bytes_(element_bytes) {}

  /// Of slice `slice` of chunks chunk .. chunk + count - 1, as part_of cuts them.
  [[nodiscard]] double operator()(int chunk, int count, int slice) {
    double bytes = 0;
    auto first = static_cast<std::size_t>(chunk);
    for (auto left = static_cast<std::size_t>(count); left > 0;) {
      const std::size_t block = first / parts_;
      const std::size_t index = first % parts_;
      const std::size_t here = std::min(left, parts_ - index);
      cut(block_elements_[block], static_cast<std::size_t>(slice));
      const std::size_t longer = index < longer_ ? std::min(longer_ - index, here) : 0;
      bytes += static_cast<double>((longer * long_ + (here - longer) * short_) * element_bytes_);
      first += here;
      left -= here;
    }
    return bytes;
  }

 private:
  /// Chunks of a block have two lengths: those before `longer_` an element more.
  void cut(std::size_t elements, std::size_t slice) {
    if (known_ && elements == elements_ && slice == slice_) return;
    known_ = true;
    elements_ = elements;
    slice_ = slice;
    longer_ = elements % parts_;
    long_ = part_of(elements / parts_ + 1, slices_, slice).length;
    short_ = part_of(elements / parts_, slices_, slice).length;
  }

  std::size_t parts_, slices_;
  std::span<const std::size_t> block_elements_;
  std::size_t element_bytes_;
  // Of the block last asked for: mostly the next is as long.
  bool known_ = false;
  std::size_t elements_ = 0, slice_ = 0;
  std::size_t longer_ = 0, long_ = 0, short_ = 0;
};

}  // namespace ringside::simulated
