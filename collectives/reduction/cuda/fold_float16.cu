// SPDX-License-Identifier: MIT
/// The fold kernels of float16.
#include "ringside/collectives/reduction/cuda/fold_kernels.cuh"

namespace ringside::cuda {

template const TypeKernels& kernels_of<float16>();

}  // namespace ringside::cuda
