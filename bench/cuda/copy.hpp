// SPDX-License-Identifier: MIT
/// Between memory of the host and of the calling thread's GPU. Needs no CUDA to be compiled.
#pragma once

#include <cstddef>

namespace ringside::bench {

/// Complete when it returns. Throws Error(device).
void copy_with_gpu(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace ringside::bench
