// SPDX-License-Identifier: MIT
/// Kernels of the tests of the double, compiled by nvcc (launches) and by g++ (host versions).
#ifndef __CUDACC__
#include "ringside/tests/fakecuda/device_shim.hpp"
#endif

#include "ringside/tests/fakecuda/test_kernels.hpp"

namespace ringside::tests::fakecuda {
namespace kernels {

/// Sums wrap: a run with a planted bug adds rubbish.
__global__ void add(AddParameter p) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.elements;
       i += threads)
    p.destination[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(p.a[i]) +
                                                 static_cast<std::uint32_t>(p.b[i]));
}

__global__ void fill(FillParameter p) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.elements;
       i += threads)
    p.data[i] = p.value;
}

__global__ void spin([[maybe_unused]] SpinParameter p) {
#ifdef __CUDACC__
  const long long start = clock64();
  while (clock64() - start < static_cast<long long>(p.cycles)) {
  }
#endif
}

__global__ void unknown(FillParameter) {}

}  // namespace kernels

#ifdef __CUDACC__

namespace {

template <class Parameter>
cudaError_t launch(void (*kernel)(Parameter), Parameter parameter, cudaStream_t stream,
                   dim3 grid = 2, dim3 block = 32) {
  void* arguments[] = {&parameter};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, 0, stream);
}

}  // namespace

cudaError_t launch_add(const AddParameter& parameter, cudaStream_t stream) {
  return launch(&kernels::add, parameter, stream);
}

cudaError_t launch_fill(const FillParameter& parameter, cudaStream_t stream) {
  return launch(&kernels::fill, parameter, stream);
}

template <class Parameter>
cudaError_t add_node(void (*kernel)(Parameter), cudaGraphNode_t* node, cudaGraph_t graph,
                     const std::vector<cudaGraphNode_t>& after, Parameter parameter, dim3 grid) {
  void* arguments[] = {&parameter};
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(kernel);
  parameters.gridDim = grid;
  parameters.blockDim = dim3(32);
  parameters.kernelParams = arguments;
  return cudaGraphAddKernelNode(node, graph, after.data(), after.size(), &parameters);
}

cudaError_t add_add_node(cudaGraphNode_t* node, cudaGraph_t graph,
                         const std::vector<cudaGraphNode_t>& after, const AddParameter& parameter) {
  return add_node(&kernels::add, node, graph, after, parameter, 2);
}

cudaError_t add_fill_node(cudaGraphNode_t* node, cudaGraph_t graph,
                          const std::vector<cudaGraphNode_t>& after, const FillParameter& parameter,
                          dim3 grid) {
  return add_node(&kernels::fill, node, graph, after, parameter, grid);
}

cudaError_t launch_fill_shaped(const FillParameter& parameter, dim3 grid, dim3 block,
                               cudaStream_t stream) {
  return launch(&kernels::fill, parameter, stream, grid, block);
}

cudaError_t launch_spin(std::uint64_t cycles, cudaStream_t stream) {
  return launch(&kernels::spin, SpinParameter{cycles}, stream, 1, 1);
}

cudaError_t launch_unknown(cudaStream_t stream) {
  return launch(&kernels::unknown, FillParameter{}, stream);
}

void launch_fill_with_brackets(const FillParameter& parameter, cudaStream_t stream) {
  kernels::fill<<<2, 32, 0, stream>>>(parameter);
}

#else

namespace {

void add_accesses(const AddParameter& p, std::vector<Access>& list) {
  const std::size_t bytes = p.elements * sizeof(std::int32_t);
  list.push_back({p.a, bytes, false});
  list.push_back({p.b, bytes, false});
  list.push_back({p.destination, bytes, true});
}

void fill_accesses(const FillParameter& p, std::vector<Access>& list) {
  list.push_back({p.data, p.declared * sizeof(std::int32_t), true});
}

void spin_accesses(const SpinParameter&, std::vector<Access>&) {}

}  // namespace

#endif

}  // namespace ringside::tests::fakecuda

#ifndef __CUDACC__
extern "C" const ringside::tests::fakecuda::HostKernel* fakecuda_kernels(std::size_t* count) {
  using namespace ringside::tests::fakecuda;
  static const HostKernel table[] = {host_kernel<&kernels::add, &add_accesses>(),
                                     host_kernel<&kernels::fill, &fill_accesses>(),
                                     host_kernel<&kernels::spin, &spin_accesses>()};
  *count = std::size(table);
  return table;
}
#endif
