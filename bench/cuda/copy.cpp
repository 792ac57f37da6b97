// SPDX-License-Identifier: MIT
#include "ringside/bench/cuda/copy.hpp"

#include "ringside/collectives/executors/cuda/runtime.hpp"

namespace ringside::bench {

void copy_with_gpu(std::byte* to, const std::byte* from, std::size_t bytes) {
  int device = 0;
  cuda::check(cudaGetDevice(&device), "cudaGetDevice", device);
  cuda::check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy", device);
  // The last leg of a copy from pageable memory may still be on its way.
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", device);
}

}  // namespace ringside::bench
