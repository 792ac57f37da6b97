// SPDX-License-Identifier: MIT
/// The fold kernels of 32-bit integers.
#include "ringside/collectives/reduction/cuda/fold_kernels.cuh"

namespace ringside::cuda {

template const TypeKernels& kernels_of<std::int32_t>();
template const TypeKernels& kernels_of<std::uint32_t>();

}  // namespace ringside::cuda
