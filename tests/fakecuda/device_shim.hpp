// SPDX-License-Identifier: MIT
/// Lets g++ compile kernels: what the language extensions of CUDA are on the host, and a table of
/// host kernels for the test double. A kernel takes exactly one parameter, a trivially copyable
/// struct, and threads of a block are independent of each other (no __syncthreads, no shuffles).
///
/// A .cu file includes this when __CUDACC__ is not defined, before anything else.
#pragma once

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstddef>
#include <vector>

#include "ringside/tests/fakecuda/host_kernel.hpp"

// The toolkit's headers define them for g++ as attributes that it does not know, or not at all.
#undef __global__
#undef __device__
#undef __host__
#undef __forceinline__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

// Plain variables of this library: one host thread at a time runs kernels.
inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

namespace ringside::tests::fakecuda {

/// Runs all threads of all blocks.
template <class Parameter>
void run_kernel(void (*kernel)(Parameter), const void* parameter, dim3 grid, dim3 block) {
  const Parameter& value = *static_cast<const Parameter*>(parameter);
  gridDim = grid;
  blockDim = block;
  for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x)
        for (threadIdx.z = 0; threadIdx.z < block.z; ++threadIdx.z)
          for (threadIdx.y = 0; threadIdx.y < block.y; ++threadIdx.y)
            for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x) kernel(value);
}

template <class Function>
struct ParameterOf;
template <class Parameter>
struct ParameterOf<void (*)(Parameter)> {
  using Type = Parameter;
};

/// The entry of a kernel; `accesses(parameter, list)` says what a launch touches.
template <auto kernel, auto accesses>
HostKernel host_kernel() {
  using Parameter = typename ParameterOf<decltype(kernel)>::Type;
  Dl_info symbol{};
  dladdr(reinterpret_cast<const void*>(kernel), &symbol);
  return {symbol.dli_sname, sizeof(Parameter),
          [](const void* parameter, dim3 grid, dim3 block) {
            run_kernel(kernel, parameter, grid, block);
          },
          [](const void* parameter, std::vector<Access>& list) {
            accesses(*static_cast<const Parameter*>(parameter), list);
          }};
}

}  // namespace ringside::tests::fakecuda
