// SPDX-License-Identifier: MIT
/// The checksum of a run of bytes (reduction/checksum.hpp) on a device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace ringside::cuda {

/// Adds the checksum of `bytes` bytes, at any address that the current device reaches, to `*sum`,
/// which is memory of that device, in one of its streams. Returns the error of the launch.
[[nodiscard]] cudaError_t launch_checksum(const std::byte* data, std::size_t bytes,
                                          std::uint64_t* sum, cudaStream_t stream);

/// The one parameter of the kernel, which checksum.cu has.
struct ChecksumParameters {
  const std::byte* data;
  std::uint64_t bytes;
  std::uint64_t* sum;
};
const void* checksum_kernel();

}  // namespace ringside::cuda
