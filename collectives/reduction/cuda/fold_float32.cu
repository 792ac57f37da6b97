// SPDX-License-Identifier: MIT
/// The fold kernels of float32.
#include "ringside/collectives/reduction/cuda/fold_kernels.cuh"

namespace ringside::cuda {

template const TypeKernels& kernels_of<float>();

}  // namespace ringside::cuda
