// SPDX-License-Identifier: MIT
/// What stands for the GPUs in a build without CUDA.
#include <fmt/format.h>

#include "ringside/base/error.hpp"
#include "ringside/bench/cuda/copy.hpp"
#include "ringside/bench/platform.hpp"
#include "ringside/collectives/world.hpp"

namespace ringside::bench {

void settle_gpus(BenchRequest& request) try {
  (void)World::cuda({0});  // says why
  throw Error(ErrorCode::unsupported, "this build has no CUDA");
} catch (const Error& error) {
  throw Error(ErrorCode::unsupported,
              fmt::format("--backend {}: {}", to_string(request.backend), error.what()));
}

void copy_with_gpu(std::byte* /*to*/, const std::byte* /*from*/, std::size_t /*bytes*/) {
  throw Error(ErrorCode::unsupported, "this build has no CUDA");
}

std::unique_ptr<Platform> make_gpu_platform(const BenchRequest& request) {
  BenchRequest settled = request;
  settle_gpus(settled);
  return nullptr;
}

}  // namespace ringside::bench
