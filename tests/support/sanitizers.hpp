// SPDX-License-Identifier: MIT
/// The sanitizers that this program was built with, for tests of what these change: speed, the
/// space of addresses, memory that is resident.
#pragma once

namespace ringside::tests {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif

#ifdef __SANITIZE_THREAD__
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif

}  // namespace ringside::tests
