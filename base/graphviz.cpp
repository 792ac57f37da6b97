// SPDX-License-Identifier: MIT
#include "ringside/base/graphviz.hpp"

namespace ringside {

std::string graphviz_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + '"';
}

}  // namespace ringside
