// SPDX-License-Identifier: MIT
#include "ringside/trainer/memory.hpp"

#include <utility>

namespace ringside::trainer {
namespace {

/// 64 bytes of float32; more of float64.
constexpr std::size_t alignment = 16;

}  // namespace

TensorLayout::TensorLayout(std::vector<TensorShape> tensors) : tensors_(std::move(tensors)) {
  for (const auto& tensor : tensors_) {
    const auto length = tensor.elements();
    extents_.push_back({elements_, length});
    numbers_ += length;
    elements_ += (length + alignment - 1) / alignment * alignment;
  }
}

}  // namespace ringside::trainer
