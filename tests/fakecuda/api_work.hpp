// SPDX-License-Identifier: MIT
/// The work that entry points put in streams and in graphs alike.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "ringside/tests/fakecuda/runtime.hpp"

namespace ringside::tests::fakecuda {

/// A launch on a device, with its one parameter taken.
[[nodiscard]] cudaError_t kernel_work(Runtime& runtime, const void* stub, dim3 grid, dim3 block,
                                      void** arguments, int device, std::shared_ptr<Work>& work);

/// A copy by a device. Nothing is taken from pageable memory before it runs.
[[nodiscard]] cudaError_t copy_work(Runtime& runtime, void* to, const void* from, std::size_t bytes,
                                    cudaMemcpyKind kind, int device, std::shared_ptr<Work>& work);

}  // namespace ringside::tests::fakecuda
