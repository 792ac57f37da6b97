// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/diagnosis.hpp"

#include <array>

namespace ringside {

std::string_view to_string(Certainty certainty) {
  static constexpr std::array<std::string_view, 3> names = {"certain", "likely", "possible"};
  return names.at(static_cast<std::size_t>(certainty));
}

std::string_view to_string(Harm harm) {
  static constexpr std::array<std::string_view, 4> names = {"wrong data", "hang", "slow", "risk"};
  return names.at(static_cast<std::size_t>(harm));
}

}  // namespace ringside
