// SPDX-License-Identifier: MIT
/// The fold kernels of 8-bit integers.
#include "ringside/collectives/reduction/cuda/fold_kernels.cuh"

namespace ringside::cuda {

template const TypeKernels& kernels_of<std::int8_t>();
template const TypeKernels& kernels_of<std::uint8_t>();

}  // namespace ringside::cuda
