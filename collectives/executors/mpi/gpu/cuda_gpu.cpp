// SPDX-License-Identifier: MIT
/// A GPU by the CUDA runtime.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/executors/cuda/operands.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/executors/cuda/waiting.hpp"
#include "ringside/collectives/executors/mpi/gpu/gpu.hpp"
#include "ringside/collectives/reduction/cuda/device_fold.hpp"

namespace ringside::mpi {
namespace {

using cuda::check;

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(Gpu::Handle));

/// Smaller allocations may be parts of one that is shared as a whole (CUDA programming guide,
/// interprocess communication).
constexpr std::size_t shared_unit = std::size_t{2} << 20;

struct Kernels final : GpuKernels {
  struct Kernel {
    cuda::DeviceFold fold;
    std::size_t element_bytes = 1;
    bool copies = false;
  };
  std::vector<Kernel> all;
};

class Lanes final : public GpuLanes {
 public:
  explicit Lanes(int device) : device_(device), way_(cuda::copy_way()) {}

  void fold(std::size_t lane, const GpuKernels& kernels, std::size_t number,
            const std::byte* const* sources, std::byte* const* destinations, std::size_t elements,
            bool by_engine) override {
    const auto& kernel = static_cast<const Kernels&>(kernels).all[number];
    const std::size_t bytes = elements * kernel.element_bytes;
    if (kernel.copies && (by_engine || is_engines(bytes)))
      copy(lane, destinations[0], sources[0], bytes);
    else
      check(kernel.fold.launch(sources, destinations, elements, stream(lane)), "kernel launch",
            device_);
  }

  void copy(std::size_t lane, std::byte* to, const std::byte* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream(lane)), "cudaMemcpyAsync",
          device_);
  }

  bool is_idle(std::size_t lane) override {
    if (lane >= streams_.size()) return true;
    const cudaError_t error = cudaStreamQuery(streams_[lane].get());
    if (error == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return false;
    }
    check(error, "an operation", device_);
    return true;
  }

  void settle(Seconds longest) noexcept override {
    const std::atomic<bool> never{false};
    host::WaitPolicy policy;
    policy.limit = longest;
    for (const auto& stream : streams_) (void)cuda::await_complete(stream.get(), policy, never);
  }

 private:
  [[nodiscard]] bool is_engines(std::size_t bytes) const {
    return way_ == cuda::CopyWay::engine ||
           (way_ == cuda::CopyWay::by_size && bytes > cuda::longest_kernel_copy);
  }
  cudaStream_t stream(std::size_t lane) {
    while (streams_.size() <= lane) streams_.push_back(cuda::Stream::on(device_));
    return streams_[lane].get();
  }

  int device_;
  cuda::CopyWay way_;
  std::deque<cuda::Stream> streams_;
};

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(int device)
      : device_(device),
        stream_(cuda::Stream::on(device)),
        words_(cuda::resolve_device_fold({.type = ElementType::uint64})) {}

  void use() const override { check(cudaSetDevice(device_), "cudaSetDevice", device_); }

  bool reaches(const void* address) const override {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, address), "cudaPointerGetAttributes", device_);
    if (attributes.type == cudaMemoryTypeDevice && attributes.device != device_)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("a buffer is memory of device {}, and the rank is on device {}",
                              attributes.device, device_));
    return attributes.type != cudaMemoryTypeUnregistered;
  }

  void await(void* stream, Seconds limit) const override {
    const cuda::DeviceGuard guard(device_);  // which the default stream goes by
    auto* const given = static_cast<cudaStream_t>(stream);
    auto status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(given, &status), "cudaStreamIsCapturing", device_);
    if (status != cudaStreamCaptureStatusNone)
      throw Error(
          ErrorCode::invalid_argument,
          "the stream is captured: a call of ranks that are processes is no part of a graph");
    host::WaitPolicy policy;
    policy.limit = limit;
    complete(given, policy, "what is in the stream of the call");
  }

  std::byte* allocate(std::size_t bytes) override {
    const cuda::DeviceGuard guard(device_);
    const std::size_t whole =
        (std::max<std::size_t>(bytes, 1) + shared_unit - 1) / shared_unit * shared_unit;
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, whole);
    if (error == cudaErrorMemoryAllocation)
      throw Error(
          ErrorCode::io,
          cuda::error_of(error, fmt::format("cudaMalloc of {} bytes", whole), device_).what());
    check(error, "cudaMalloc", device_);
    auto* const at = static_cast<std::byte*>(memory);
    try {
      const std::lock_guard lock(mutex_);
      check(cudaMemsetAsync(at, 0, whole, stream_.get()), "cudaMemsetAsync", device_);
      complete(stream_.get(), cuda::short_patience(), "clearing memory");
    } catch (const Error&) {
      release(at);
      throw;
    }
    return at;
  }

  void release(std::byte* memory) noexcept override { (void)cudaFree(memory); }

  Handle handle_of(std::byte* memory) override {
    cudaIpcMemHandle_t handle{};
    check(cudaIpcGetMemHandle(&handle, memory), "cudaIpcGetMemHandle", device_);
    Handle bytes{};
    std::memcpy(bytes.data(), &handle, sizeof(handle));
    return bytes;
  }

  std::byte* open(const Handle& handle) override {
    const cuda::DeviceGuard guard(device_);
    cudaIpcMemHandle_t theirs{};
    std::memcpy(&theirs, handle.data(), sizeof(theirs));
    void* memory = nullptr;
    if (cudaIpcOpenMemHandle(&memory, theirs, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess)
      return static_cast<std::byte*>(memory);
    (void)cudaGetLastError();
    return nullptr;
  }

  void close(std::byte* memory) noexcept override {
    int before = -1;
    (void)cudaGetDevice(&before);
    (void)cudaSetDevice(device_);
    (void)cudaIpcCloseMemHandle(memory);
    if (before >= 0) (void)cudaSetDevice(before);
  }

  void pin(std::byte* memory, std::size_t bytes) override {
    const cuda::DeviceGuard guard(device_);
    check(cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
          "cudaHostRegister", device_);
  }
  void unpin(std::byte* memory) noexcept override { (void)cudaHostUnregister(memory); }

  std::shared_ptr<std::byte> pinned(std::size_t bytes) override {
    const cuda::DeviceGuard guard(device_);
    auto memory = std::make_shared<cuda::PinnedMemory>(cuda::PinnedMemory::of(bytes));
    return {memory, memory->data()};
  }

  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()), "cudaMemcpyAsync",
          device_);
    complete(stream_.get(), cuda::short_patience(), "a copy");
  }

  void copy_by_kernel(std::byte* to, const std::byte* from, std::size_t bytes) override {
    const cuda::DeviceGuard guard(device_);
    const std::lock_guard lock(mutex_);
    check(words_.launch(&from, &to, bytes / sizeof(std::uint64_t), stream_.get()), "kernel launch",
          device_);
    complete(stream_.get(), cuda::short_patience(), "a copy");
  }

  std::unique_ptr<GpuLanes> make_lanes() override { return std::make_unique<Lanes>(device_); }

  std::unique_ptr<const GpuKernels> resolve(std::span<const FoldShape> shapes) const override {
    auto kernels = std::make_unique<Kernels>();
    for (const FoldShape& shape : shapes)
      kernels->all.push_back(
          {cuda::resolve_device_fold(shape), size_of(shape.type), is_plain_copy(shape)});
    return kernels;
  }

  std::size_t most_operands() const override { return cuda::most_fold_operands; }

 private:
  /// Waits for a stream of the device.
  void complete(cudaStream_t stream, const host::WaitPolicy& policy, const char* what) const {
    const std::atomic<bool> never{false};
    const auto [result, error] = cuda::await_complete(stream, policy, never);
    if (result == host::WaitResult::timed_out)
      throw Error(ErrorCode::timeout, fmt::format("device {} has not finished {} after {}", device_,
                                                  what, format_duration(policy.limit)));
    check(error, what, device_);
  }

  int device_;
  std::mutex mutex_;  // of the stream
  cuda::Stream stream_;
  cuda::DeviceFold words_;
};

}  // namespace

std::unique_ptr<Gpu> make_gpu(int device) {
  const int count = cuda::device_count();
  if (device < 0 || device >= count)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("there is no GPU {}: this machine has {} (0 to {})", device, count, count - 1));
  return std::make_unique<CudaGpu>(device);
}

}  // namespace ringside::mpi
