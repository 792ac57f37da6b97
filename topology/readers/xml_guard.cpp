// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/xml_guard.hpp"

#include <algorithm>

namespace ringside {

XmlObjection object_to_xml(std::string_view text, const XmlLimits& limits, bool allow_doctype) {
  int depth = 0;
  std::size_t elements = 0;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    const auto rest = text.substr(at);
    if (rest.starts_with("<!--")) {
      at = std::min(text.find("-->", at), text.size() - 1);
      continue;
    }
    if (rest.starts_with("<!")) {
      const auto declaration = rest.substr(0, rest.find('>'));
      if (!allow_doctype || declaration.find('[') != std::string_view::npos)
        return {at, "it declares a document type or entities"};
      continue;
    }
    if (rest.starts_with("<?")) continue;
    if (rest.starts_with("</")) {
      --depth;
      continue;
    }
    const auto end = text.find('>', at);
    const bool empty = end != std::string_view::npos && text[end - 1] == '/';
    if (++elements > limits.elements) return {at, "more elements than any machine has devices"};
    if (!empty && ++depth > limits.depth) return {at, "elements are nested too deeply"};
  }
  return {};
}

}  // namespace ringside
