// SPDX-License-Identifier: MIT
/// How large the processor's last cache is.
#pragma once

#include <cstdint>

namespace ringside {

/// Bytes of the largest cache that the first core uses, as the kernel lists it; where it lists
/// none, what the C library says, or else 32 MiB. (The C library's number comes first nowhere: on
/// AMD processors it can be that of all caches of the package together, ten times what a core
/// sees.)
[[nodiscard]] std::uint64_t last_cache_bytes();

}  // namespace ringside
