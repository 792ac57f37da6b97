// SPDX-License-Identifier: MIT
/// The fold kernels of bfloat16.
#include "ringside/collectives/reduction/cuda/fold_kernels.cuh"

namespace ringside::cuda {

template const TypeKernels& kernels_of<bfloat16>();

}  // namespace ringside::cuda
