// SPDX-License-Identifier: MIT
/// The files in classes/, as they are compiled in.
#pragma once

#include <string_view>
#include <vector>

namespace ringside {

struct ClassText {
  std::string_view name;
  std::string_view json;
};

[[nodiscard]] const std::vector<ClassText>& class_texts();

}  // namespace ringside
