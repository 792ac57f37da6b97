// SPDX-License-Identifier: MIT
/// What a rank that is a process needs of its GPU: memory that other processes open, and work in
/// streams. No types of CUDA: a build without it has none of these (absent.cpp), and is otherwise
/// the same.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside::mpi {

/// Folds resolved to kernels of a GPU.
class GpuKernels {
 public:
  GpuKernels() = default;
  GpuKernels(const GpuKernels&) = delete;
  GpuKernels& operator=(const GpuKernels&) = delete;
  virtual ~GpuKernels() = default;
};

/// Streams for the lanes of a rank, by number. Used by one thread at a time. Calls enqueue and
/// return; throw Error(device).
class GpuLanes {
 public:
  GpuLanes() = default;
  GpuLanes(const GpuLanes&) = delete;
  GpuLanes& operator=(const GpuLanes&) = delete;
  virtual ~GpuLanes() = default;

  /// Folds by the kernel of that number. `by_engine`: a plain copy must be a copy engine's work.
  virtual void fold(std::size_t lane, const GpuKernels& kernels, std::size_t number,
                    const std::byte* const* sources, std::byte* const* destinations,
                    std::size_t elements, bool by_engine) = 0;
  virtual void copy(std::size_t lane, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Whether all that was enqueued in the lane is complete; throws what went wrong with it.
  [[nodiscard]] virtual bool is_idle(std::size_t lane) = 0;
  /// Waits until all lanes are idle, well or not, but not for longer than that.
  virtual void settle(Seconds longest) noexcept = 0;
};

/// Thread-safe. Errors of the device are thrown as Error(device), and that there is no memory as
/// Error(io).
class Gpu {
 public:
  /// By which another process opens memory.
  using Handle = std::array<std::byte, 64>;

  Gpu() = default;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  virtual ~Gpu() = default;

  /// Makes it the calling thread's current device.
  virtual void use() const = 0;
  /// Whether it reaches the address as it is: its own memory, and memory of the host that CUDA
  /// knows. Not for what it cannot reach: ordinary memory of the host. Throws
  /// Error(invalid_argument) for memory of another GPU.
  [[nodiscard]] virtual bool reaches(const void* address) const = 0;
  /// Returns when what is in a stream of the caller's is complete. Throws Error(invalid_argument)
  /// for one that is captured, Error(timeout).
  virtual void await(void* stream, Seconds limit) const = 0;

  /// Memory of its own, zero, of `shared_bytes(bytes)` bytes.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  /// Of memory that was allocated here.
  [[nodiscard]] virtual Handle handle_of(std::byte* memory) = 0;
  /// Memory of another process; null if the machine does not let it. To be closed as often.
  [[nodiscard]] virtual std::byte* open(const Handle& handle) = 0;
  virtual void close(std::byte* memory) noexcept = 0;
  /// Memory of the host, whole pages, becomes such that it reaches it, and does no more.
  virtual void pin(std::byte* memory, std::size_t bytes) = 0;
  virtual void unpin(std::byte* memory) noexcept = 0;
  /// Memory of the host that it reaches.
  [[nodiscard]] virtual std::shared_ptr<std::byte> pinned(std::size_t bytes) = 0;

  /// Between any two of its own memory, the host's, and what it has opened. Complete when it
  /// returns.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// The same by a kernel, for memory that kernels reach; whole 8-byte words.
  virtual void copy_by_kernel(std::byte* to, const std::byte* from, std::size_t bytes) = 0;

  [[nodiscard]] virtual std::unique_ptr<GpuLanes> make_lanes() = 0;
  /// Throws Error(unsupported) for a fold of more operands than a kernel takes.
  [[nodiscard]] virtual std::unique_ptr<const GpuKernels> resolve(
      std::span<const FoldShape> shapes) const = 0;
  /// Sources and destinations of a kernel together, at most.
  [[nodiscard]] virtual std::size_t most_operands() const = 0;
};

/// That of this machine's GPU of that number. Throws Error(unsupported) without a usable GPU and in
/// a build without CUDA, Error(invalid_argument) for a GPU that does not exist, Error(device).
[[nodiscard]] std::unique_ptr<Gpu> make_gpu(int device);

}  // namespace ringside::mpi
