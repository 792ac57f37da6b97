// SPDX-License-Identifier: MIT
/// The fold kernels of the 8-bit floats.
#include "ringside/collectives/reduction/cuda/fold_kernels.cuh"

namespace ringside::cuda {

template const TypeKernels& kernels_of<float8_e4m3>();
template const TypeKernels& kernels_of<float8_e5m2>();

}  // namespace ringside::cuda
