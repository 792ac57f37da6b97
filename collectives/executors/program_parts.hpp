// SPDX-License-Identifier: MIT
/// What binding a plan to a size has in common for all executors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "ringside/base/error.hpp"

namespace ringside {

/// Sizes and numbers in a program have 32 bits. Throws Error(unsupported) for what does not fit.
[[nodiscard]] inline std::uint32_t number_in_program(std::size_t value) {
  if (value > std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorCode::unsupported,
                "a plan with more steps or addresses than a program can number: use fewer slices");
  return static_cast<std::uint32_t>(value);
}

/// Whether every address from `first` on is where the run, which has `bytes` bytes, ends: then the
/// two are one longer run.
template <class Run, class Addresses>
[[nodiscard]] bool continues(const Run& run, std::size_t bytes, const Addresses& addresses,
                             std::size_t first) {
  for (std::size_t i = 0; first + i < addresses.size(); ++i)
    if (addresses[first + i].offset != addresses[run.first_address + i].offset + bytes)
      return false;
  return true;
}

}  // namespace ringside
