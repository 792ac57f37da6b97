// SPDX-License-Identifier: MIT
/// The fold kernels of 64-bit integers.
#include "ringside/collectives/reduction/cuda/fold_kernels.cuh"

namespace ringside::cuda {

template const TypeKernels& kernels_of<std::int64_t>();
template const TypeKernels& kernels_of<std::uint64_t>();

}  // namespace ringside::cuda
