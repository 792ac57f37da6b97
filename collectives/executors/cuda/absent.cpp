// SPDX-License-Identifier: MIT
/// What stands for the GPU backend in a build without CUDA.
#include "ringside/base/error.hpp"
#include "ringside/collectives/backend.hpp"

namespace ringside {

std::unique_ptr<Backend> cuda::make_backend(const std::vector<int>&) {
  throw Error(ErrorCode::unsupported,
              "this build has no CUDA backend: no nvcc was found when it was configured");
}

}  // namespace ringside
