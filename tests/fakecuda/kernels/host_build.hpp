// SPDX-License-Identifier: MIT
/// Included before each .cu file of the library when g++ compiles it for the test double: the
/// language extensions, and a `RINGSIDE_KERNEL` that also enters the kernel into the double's
/// table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ringside/collectives/reduction/cuda/fold_kernels.hpp"
#include "ringside/tests/fakecuda/device_shim.hpp"

#undef __grid_constant__
#define __grid_constant__

/// Time passes quickly: nothing is to wait for.
inline long long clock64() {
  static long long now = 0;
  return now += std::int64_t{1} << 40;
}

namespace ringside::tests::fakecuda {

template <std::size_t most>
void list_accesses(const cuda::FoldParameters<most>& p, std::vector<Access>& list) {
  for (std::uint32_t j = 0; j < p.k + p.m; ++j) list.push_back({p.operands[j], p.bytes, j >= p.k});
}
inline void list_accesses(const cuda::SpinParameters&, std::vector<Access>&) {}

/// The kernels of this library, in the order in which they were entered.
std::vector<HostKernel>& host_kernels();

/// The kernels do the same with any number of blocks and threads (that divides those asked for):
/// enough of both that indices matter.
constexpr unsigned most_host_blocks = 2;
constexpr unsigned most_host_threads = 2;

template <class Parameter>
void run_small(void (*kernel)(Parameter), const void* parameter, dim3 grid, dim3 block) {
  run_kernel(kernel, parameter, dim3(std::min(grid.x, most_host_blocks)),
             dim3(std::min(block.x, most_host_threads)));
}

template <auto kernel>
const void* entered() {
  using Parameter = typename ParameterOf<decltype(kernel)>::Type;
  HostKernel entry = host_kernel<kernel, [](const Parameter& p, std::vector<Access>& list) {
    list_accesses(p, list);
  }>();
  entry.run = [](const void* parameter, dim3 grid, dim3 block) {
    run_small(kernel, parameter, grid, block);
  };
  host_kernels().push_back(entry);
  return reinterpret_cast<const void*>(kernel);
}

}  // namespace ringside::tests::fakecuda

#define RINGSIDE_KERNEL(...) (::ringside::tests::fakecuda::entered<&__VA_ARGS__>())
