// SPDX-License-Identifier: MIT
/// The library's kernels as the test double takes them.
#include "host_build.hpp"
#include "ringside/collectives/reduction/cuda/checksum_kernel.hpp"
#include "ringside/collectives/reduction/types.hpp"

namespace ringside::tests::fakecuda {

std::vector<HostKernel>& host_kernels() {
  static std::vector<HostKernel> kernels;
  return kernels;
}

namespace {

template <class... T>
void enter_types() {
  (static_cast<void>(cuda::kernels_of<T>()), ...);
}

}  // namespace
}  // namespace ringside::tests::fakecuda

extern "C" const ringside::tests::fakecuda::HostKernel* fakecuda_kernels(std::size_t* count) {
  using namespace ringside;
  using namespace ringside::tests::fakecuda;
  if (host_kernels().empty()) {
    enter_types<std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t,
                float16, float, double, bfloat16, float8_e4m3, float8_e5m2>();
    static_cast<void>(cuda::copy_kernels());
    static_cast<void>(cuda::checksum_kernel());
    static_cast<void>(cuda::spin_kernel());
  }
  *count = host_kernels().size();
  return host_kernels().data();
}
