// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/visible.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace ringside::cli {
namespace {

/// A character that is to be seen instead of obeyed; of length 0 where none begins.
struct Control {
  std::size_t length = 0;
  unsigned number = 0;  ///< of the character
};

Control control_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const unsigned first = byte(0), second = byte(1), third = byte(2);
  if ((first < 0x20 && first != '\n' && first != '\t') || first == 0x7f) return {1, first};
  if (first == 0xc2 && second >= 0x80 && second <= 0x9f) return {2, second};  // ESC [ in one, ...
  if (first != 0xe2) return {};
  // U+202A to 202E, 2066 to 2069: embeddings, overrides and isolates of direction.
  if (second == 0x80 && third >= 0xaa && third <= 0xae) return {3, 0x2000 + (third - 0x80)};
  if (second == 0x81 && third >= 0xa6 && third <= 0xa9) return {3, 0x2040 + (third - 0x80)};
  return {};
}

}  // namespace

bool has_controls(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at)
    if (control_at(text, at).length > 0) return true;
  return false;
}

std::string visible(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Control control = control_at(text, at);
    if (control.length > 0)
      shown += fmt::format("\\u{:04x}", control.number);
    else
      shown += text[at];
    at += control.length > 0 ? control.length : 1;
  }
  return shown;
}

}  // namespace ringside::cli
