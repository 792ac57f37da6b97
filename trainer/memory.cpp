// SPDX-License-Identifier: MIT
#include "ringside/trainer/memory.hpp"

#include <cmath>
#include <cstring>
#include <utility>

namespace ringside::trainer {
namespace {

/// 64 bytes of float32; more of float64.
constexpr std::size_t alignment = 16;

template <class T>
bool all_finite_as(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, &bytes[at], sizeof(T));
    if (!std::isfinite(number)) return false;
  }
  return true;
}

}  // namespace

TensorLayout::TensorLayout(std::vector<TensorShape> tensors) : tensors_(std::move(tensors)) {
  for (const auto& tensor : tensors_) {
    const auto length = tensor.elements();
    extents_.push_back({elements_, length});
    numbers_ += length;
    elements_ += (length + alignment - 1) / alignment * alignment;
  }
}

bool all_finite(std::span<const std::byte> bytes, ElementType type) {
  return type == ElementType::float64 ? all_finite_as<double>(bytes) : all_finite_as<float>(bytes);
}

}  // namespace ringside::trainer
