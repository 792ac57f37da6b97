// SPDX-License-Identifier: MIT
/// A build without CUDA.
#include "ringside/base/error.hpp"
#include "ringside/trainer/backend.hpp"

namespace ringside::trainer {

Communicator staged(Communicator& /*inner*/, int /*device*/) {
  throw Error(ErrorCode::unsupported, "this build has no CUDA");
}

int gpu_count() { throw Error(ErrorCode::unsupported, "this build has no CUDA"); }

}  // namespace ringside::trainer
