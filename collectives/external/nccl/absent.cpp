// SPDX-License-Identifier: MIT
/// What stands for NCCL in a build without CUDA.
#include "ringside/base/error.hpp"
#include "ringside/collectives/backend.hpp"

namespace ringside {

std::unique_ptr<Backend> nccl::make_backend(const std::vector<int>&) {
  throw Error(ErrorCode::unsupported,
              "this build has no NCCL backend: no nvcc was found when it was configured");
}

}  // namespace ringside
