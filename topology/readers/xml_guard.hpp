// SPDX-License-Identifier: MIT
/// What XML of strangers may cost, checked before it is parsed.
#pragma once

#include <cstddef>
#include <string_view>

namespace ringside {

struct XmlLimits {
  int depth = 32;
  std::size_t elements = 20'000;
};

/// Why the text must not be parsed and where, or nothing.
struct XmlObjection {
  std::size_t offset = 0;
  std::string_view reason;  ///< "" for none
};

/// Looks at the marks alone, without a parser: pugixml takes elements apart recursively, so what is
/// nested too deeply must not reach it. Entities and document types of their own are refused unless
/// `allow_doctype`, which takes a plain <!DOCTYPE name SYSTEM "file"> that nobody follows.
[[nodiscard]] XmlObjection object_to_xml(std::string_view text, const XmlLimits& limits,
                                         bool allow_doctype = false);

}  // namespace ringside
