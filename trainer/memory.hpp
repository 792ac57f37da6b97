// SPDX-License-Identifier: MIT
/// A run of numbers somewhere, and how a model's tensors lie in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/elements.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/reduction/types.hpp"

namespace ringside::trainer {

/// Numbers one after another, at the host or on a device: what collectives take. Owns nothing.
struct Memory {
  void* data = nullptr;
  std::size_t elements = 0;
  ElementType type = ElementType::float32;

  [[nodiscard]] std::size_t bytes() const { return elements * size_of(type); }
  [[nodiscard]] Memory part(const Extent& extent) const {
    return {static_cast<std::byte*>(data) + extent.offset * size_of(type), extent.length, type};
  }
  /// As numbers of the type that they have; memory of the host only.
  template <class T>
  [[nodiscard]] std::span<T> as() const {
    if (type != ElementTypeOf<T>::value)
      throw Error(ErrorCode::internal, "a model's numbers are read as another type");
    return {static_cast<T*>(data), elements};
  }
};

/// How the numbers of a tensor begin.
enum class Beginning { normal, zeros, ones };

/// A parameter, or a statistic that travels with the parameters (the running mean of a batch norm).
struct TensorShape {
  std::string name;  ///< as in checkpoints: "layer1.0.conv1.weight"
  std::vector<std::int64_t> sizes;
  Beginning beginning = Beginning::normal;

  [[nodiscard]] std::size_t elements() const {
    std::size_t product = 1;
    for (const auto size : sizes) product *= static_cast<std::size_t>(size);
    return product;
  }
};

/// Tensors one after another in one memory, each at a multiple of 64 bytes, as vector instructions
/// like it. What lies between them is zero and stays zero.
class TensorLayout {
 public:
  TensorLayout() = default;
  explicit TensorLayout(std::vector<TensorShape> tensors);

  [[nodiscard]] std::size_t size() const { return tensors_.size(); }
  [[nodiscard]] const TensorShape& operator[](std::size_t tensor) const { return tensors_[tensor]; }
  [[nodiscard]] const std::vector<TensorShape>& tensors() const { return tensors_; }
  /// Where the tensor lies.
  [[nodiscard]] Extent extent(std::size_t tensor) const { return extents_[tensor]; }
  /// Of the memory.
  [[nodiscard]] std::size_t elements() const { return elements_; }
  /// Of the tensors alone: what is called the number of parameters.
  [[nodiscard]] std::size_t numbers() const { return numbers_; }

 private:
  std::vector<TensorShape> tensors_;
  std::vector<Extent> extents_;
  std::size_t elements_ = 0, numbers_ = 0;
};

/// Whether all numbers of float32 or float64 are finite; they may lie anywhere.
[[nodiscard]] bool all_finite(std::span<const std::byte> bytes, ElementType type);

}  // namespace ringside::trainer
