// SPDX-License-Identifier: MIT
/// What a library of host kernels gives the test double: a function for each kernel that runs all
/// its blocks and threads, and one that says what such a launch touches. The library exports
///     extern "C" const ringside::tests::fakecuda::HostKernel* fakecuda_kernels(std::size_t*
///     count);
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace ringside::tests::fakecuda {

struct Access {
  const void* address;
  std::size_t bytes;
  bool writes;
};

struct HostKernel {
  const char* name;  ///< mangled, as nvcc registers it (found by dladdr on the host instance)
  std::size_t parameter_bytes;                                         ///< of the single parameter
  void (*run)(const void* parameter, dim3 grid, dim3 block);           ///< all blocks and threads
  void (*accesses)(const void* parameter, std::vector<Access>& list);  ///< what it reads and writes
};

}  // namespace ringside::tests::fakecuda
