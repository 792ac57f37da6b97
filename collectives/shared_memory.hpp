// SPDX-License-Identifier: MIT
/// Memory for buffers that other ranks reach directly.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace ringside {

/// Made by Communicator::shared_memory. Belongs to whoever holds it; zero at first, and aligned to
/// a page. Outlives the communicator and, where ranks are processes, must not outlive the World.
class SharedMemory {
 public:
  /// None: no bytes.
  SharedMemory() = default;
  /// For backends; programs get theirs from Communicator::shared_memory.
  SharedMemory(std::shared_ptr<std::byte> data, std::size_t bytes)
      : data_(std::move(data)), bytes_(bytes) {}

  /// All of it, as long as was asked for. Where the rank has a GPU it is that GPU's memory, not to
  /// be read by the host.
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_.get(), bytes_}; }
  /// As many elements as fit.
  template <class T>
  [[nodiscard]] std::span<T> as() const {
    return {reinterpret_cast<T*>(data_.get()), bytes_ / sizeof(T)};
  }

 private:
  std::shared_ptr<std::byte> data_;
  std::size_t bytes_ = 0;
};

}  // namespace ringside
