// SPDX-License-Identifier: MIT
/// The kernel that sums a run of bytes, as checksum_of does on the host.
#include "ringside/collectives/reduction/checksum.hpp"
#include "ringside/collectives/reduction/cuda/checksum_kernel.hpp"
#include "ringside/collectives/reduction/cuda/fold_kernels.cuh"

namespace ringside::cuda {

/// Word number `index`, as far as there are bytes.
__device__ inline std::uint64_t checksum_word(const ChecksumParameters& p, std::uint64_t index) {
  const std::uint64_t offset = index * checksum_word_bytes;
  const std::byte* const at = p.data + offset;
  const std::uint64_t left = p.bytes - offset;
  if (left >= checksum_word_bytes && reinterpret_cast<std::uint64_t>(at) % checksum_word_bytes == 0)
    return *reinterpret_cast<const std::uint64_t*>(at);
  std::uint64_t word = 0;
  const std::uint64_t count = left < checksum_word_bytes ? left : checksum_word_bytes;
#pragma unroll 1
  for (std::uint64_t i = 0; i < count; ++i) word |= static_cast<std::uint64_t>(at[i]) << (8 * i);
  return word;
}

__global__ void __launch_bounds__(fold_threads)
    add_checksum(const __grid_constant__ ChecksumParameters p) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t words = (p.bytes + checksum_word_bytes - 1) / checksum_word_bytes;
  std::uint64_t sum = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words;
       i += stride)
    sum += checksum_term(checksum_word(p, i), i);
  if (sum != 0) atomicAdd(reinterpret_cast<unsigned long long*>(p.sum), sum);
}

const void* checksum_kernel() { return RINGSIDE_KERNEL(add_checksum); }

}  // namespace ringside::cuda
