// SPDX-License-Identifier: MIT
/// Kernels of the tests of the double, compiled by nvcc (launches) and by g++ (host versions).
#ifndef __CUDACC__
#include "ringside/tests/fakecuda/device_shim.hpp"
#endif

#include "ringside/tests/fakecuda/test_kernels.hpp"

namespace ringside::tests::fakecuda {
namespace kernels {

__global__ void add(AddParameter p) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.elements;
       i += threads)
    p.destination[i] = p.a[i] + p.b[i];
}

__global__ void fill(FillParameter p) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.elements;
       i += threads)
    p.data[i] = p.value;
}

__global__ void unknown(FillParameter) {}

}  // namespace kernels

#ifdef __CUDACC__

namespace {

template <class Parameter>
cudaError_t launch(void (*kernel)(Parameter), Parameter parameter, cudaStream_t stream) {
  void* arguments[] = {&parameter};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(2), dim3(32), arguments, 0,
                          stream);
}

}  // namespace

cudaError_t launch_add(const AddParameter& parameter, cudaStream_t stream) {
  return launch(&kernels::add, parameter, stream);
}

cudaError_t launch_fill(const FillParameter& parameter, cudaStream_t stream) {
  return launch(&kernels::fill, parameter, stream);
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

}  // namespace

#endif

}  // namespace ringside::tests::fakecuda

#ifndef __CUDACC__
extern "C" const ringside::tests::fakecuda::HostKernel* fakecuda_kernels(std::size_t* count) {
  using namespace ringside::tests::fakecuda;
  static const HostKernel table[] = {host_kernel<&kernels::add, &add_accesses>(),
                                     host_kernel<&kernels::fill, &fill_accesses>()};
  *count = std::size(table);
  return table;
}
#endif
