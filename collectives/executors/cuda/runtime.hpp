// SPDX-License-Identifier: MIT
/// What we own of the CUDA runtime, as values that give it back, and its errors as ours. Only the
/// runtime's C interface is used, never the driver's: a program that needs the driver's library
/// does not start on a machine without a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string_view>
#include <utility>

#include "ringside/base/error.hpp"

namespace ringside::cuda {

/// The error of a failed call: Error(device), "device 1: cudaMalloc: out of memory". A capture that
/// was spoiled before this call is no fault of the device: Error(invalid_argument).
[[nodiscard]] Error error_of(cudaError_t error, std::string_view what, int device);

/// Throws it, unless all is well.
inline void check(cudaError_t error, std::string_view what, int device) {
  if (error != cudaSuccess) throw error_of(error, what, device);
}

/// Makes a device the calling thread's for as long as it lives.
class DeviceGuard {
 public:
  /// Throws Error(device).
  explicit DeviceGuard(int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = -1;
};

/// As long as it lives, captures under way are no concern of the calling thread. Otherwise the
/// runtime forbids it some calls while its own streams are captured, or any thread's in the global
/// mode, and spoils these captures if it makes them.
class BesideCaptures {
 public:
  /// Throws Error(device).
  explicit BesideCaptures(int device);
  ~BesideCaptures();
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Throws Error(unsupported) with the reason if there is no usable device: no driver, or no GPU.
void require_devices();

/// How many there are; throws as above.
[[nodiscard]] int device_count();

namespace detail {

/// A handle of the runtime that is given back in the end, with its device.
template <class Handle, cudaError_t (*give_back)(Handle)>
class Owned {
 public:
  Owned() = default;
  Owned(Handle handle, int device) : handle_(handle), device_(device) {}
  Owned(Owned&& other) noexcept
      : handle_(std::exchange(other.handle_, Handle{})), device_(other.device_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(device_, other.device_);
    return *this;
  }
  // What the runtime says then was said before, or there is nobody to tell.
  ~Owned() {
    if (handle_ != Handle{}) (void)give_back(handle_);
  }

  [[nodiscard]] Handle get() const { return handle_; }
  [[nodiscard]] int device() const { return device_; }
  explicit operator bool() const { return handle_ != Handle{}; }

 private:
  Handle handle_{};
  int device_ = 0;
};

}  // namespace detail

/// A stream of a device that does not wait for its default stream.
class Stream : public detail::Owned<cudaStream_t, cudaStreamDestroy> {
 public:
  using Owned::Owned;
  /// Throws Error(device).
  [[nodiscard]] static Stream on(int device);
};

/// An event of a device.
class Event : public detail::Owned<cudaEvent_t, cudaEventDestroy> {
 public:
  using Owned::Owned;
  /// For ordering only. Throws Error(device).
  [[nodiscard]] static Event on(int device);
  /// That can be timed between.
  [[nodiscard]] static Event timed_on(int device);
};

class Graph : public detail::Owned<cudaGraph_t, cudaGraphDestroy> {
 public:
  using Owned::Owned;
};

class GraphExec : public detail::Owned<cudaGraphExec_t, cudaGraphExecDestroy> {
 public:
  using Owned::Owned;
};

/// Memory of a device.
class DeviceMemory : public detail::Owned<void*, cudaFree> {
 public:
  using Owned::Owned;
  /// Throws Error(io) without memory, Error(device). No bytes: nothing is allocated.
  [[nodiscard]] static DeviceMemory on(int device, std::size_t bytes);
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(get()); }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

/// Memory of the host that every device reaches, at the same address.
class PinnedMemory : public detail::Owned<void*, cudaFreeHost> {
 public:
  using Owned::Owned;
  /// Throws Error(io) without memory, Error(device). No bytes: nothing is allocated.
  [[nodiscard]] static PinnedMemory of(std::size_t bytes);
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(get()); }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace ringside::cuda
