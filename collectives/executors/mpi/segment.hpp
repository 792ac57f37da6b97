// SPDX-License-Identifier: MIT
/// Memory that the processes of a host share: one segment a process, mapped by all of them.
///
/// A segment is a file without a name (memfd): it goes with the last process that maps it, so
/// nothing is left behind however they end, and unlike a shared window of MPI it is not bound to
/// the size of /dev/shm (64 MB in most containers), and a rank takes more of it without anybody
/// else's help. It is as long as addresses allow; what is not used takes no memory.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace ringside::mpi {

/// A mapping of a segment.
class Segment {
 public:
  /// Makes one. Throws Error(io).
  [[nodiscard]] static Segment create(std::size_t bytes);
  /// Maps that of another process, which has it open as `descriptor`. Throws Error(io): perhaps it
  /// is not of this host, or of another container.
  [[nodiscard]] static Segment attach(int process, int descriptor, std::size_t bytes);

  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// -1 of one that was attached.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] bool contains(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= data_ && at < data_ + size_;
  }

 private:
  Segment(int descriptor, std::size_t bytes);
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int descriptor_ = -1;
};

/// Deals out the memory of a segment of one's own. Thread-safe.
class Arena {
 public:
  explicit Arena(Segment segment);

  /// So many bytes, zero, aligned to a page, given back when nobody holds them. They keep the arena
  /// alive. Throws Error(io) when there are no more.
  [[nodiscard]] static std::shared_ptr<std::byte> allocate(const std::shared_ptr<Arena>& arena,
                                                           std::size_t bytes);

  [[nodiscard]] const Segment& segment() const { return segment_; }
  /// From now on what is given back keeps its contents: others may still look at it.
  void close();

 private:
  [[nodiscard]] std::size_t take(std::size_t bytes);
  void give_back(std::size_t offset, std::size_t bytes);

  Segment segment_;
  std::mutex mutex_;
  bool closed_ = false;
  std::map<std::size_t, std::size_t> free_;  // lengths by offset; no two adjoin
};

}  // namespace ringside::mpi
