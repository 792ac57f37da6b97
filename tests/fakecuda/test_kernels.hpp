// SPDX-License-Identifier: MIT
/// Small kernels that the tests of the double launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringside::tests::fakecuda {

/// destination[i] = a[i] + b[i]
struct AddParameter {
  std::int32_t* destination;
  const std::int32_t* a;
  const std::int32_t* b;
  std::size_t elements;
};
[[nodiscard]] cudaError_t launch_add(const AddParameter& parameter, cudaStream_t stream);

/// data[i] = value; says that it writes `declared` elements.
struct FillParameter {
  std::int32_t* data;
  std::int32_t value;
  std::size_t elements;
  std::size_t declared;
};
[[nodiscard]] cudaError_t launch_fill(const FillParameter& parameter, cudaStream_t stream);

/// The same as nodes of a graph, behind `after`.
[[nodiscard]] cudaError_t add_add_node(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const std::vector<cudaGraphNode_t>& after,
                                       const AddParameter& parameter);
[[nodiscard]] cudaError_t add_fill_node(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const std::vector<cudaGraphNode_t>& after,
                                        const FillParameter& parameter, dim3 grid = 2);

/// The same with any grid, also impossible ones.
[[nodiscard]] cudaError_t launch_fill_shaped(const FillParameter& parameter, dim3 grid, dim3 block,
                                             cudaStream_t stream);

/// One thread spins for so many clock cycles; on the host no time passes.
struct SpinParameter {
  std::uint64_t cycles;
};
[[nodiscard]] cudaError_t launch_spin(std::uint64_t cycles, cudaStream_t stream);

/// A kernel without a host version.
[[nodiscard]] cudaError_t launch_unknown(cudaStream_t stream);

/// Launched with <<<>>>.
void launch_fill_with_brackets(const FillParameter& parameter, cudaStream_t stream);

}  // namespace ringside::tests::fakecuda
