// SPDX-License-Identifier: MIT
/// The memory that a rank sends from and receives in.
#pragma once

#include <cstddef>
#include <utility>

namespace ringside::bench {

/// Page-aligned memory; from 2 MiB on in huge pages, where the system grants them. The caller
/// touches it first, on the thread that will use it, so that its pages are near that thread.
class PageBuffer {
 public:
  PageBuffer() = default;
  /// Throws Error(io) when the system refuses.
  explicit PageBuffer(std::size_t bytes);
  PageBuffer(PageBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PageBuffer& operator=(PageBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~PageBuffer();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace ringside::bench
