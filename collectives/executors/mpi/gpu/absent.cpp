// SPDX-License-Identifier: MIT
/// What stands for a rank's GPU in a build without CUDA.
#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/mpi/gpu/gpu.hpp"

namespace ringside {

std::unique_ptr<mpi::Gpu> mpi::make_gpu(int) {
  throw Error(ErrorCode::unsupported,
              "this build has no GPUs for processes: no nvcc was found when it was configured");
}

}  // namespace ringside
