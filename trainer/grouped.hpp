// SPDX-License-Identifier: MIT
/// Large numbers for people.
#pragma once

#include <cstddef>
#include <string>

namespace ringside::trainer {

/// With "123,456".
[[nodiscard]] inline std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

}  // namespace ringside::trainer
