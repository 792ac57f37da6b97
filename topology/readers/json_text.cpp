// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/json_text.hpp"

#include <fmt/format.h>

#include <optional>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside {
namespace {

/// More than anybody pastes; each that has no end is looked at up to the end of the text.
constexpr int most_objects = 64;

/// How deep in braces a text is, without regard to those in strings.
class Nesting {
 public:
  /// The length of the line up to the brace that closes the first one; nothing where it stays open.
  std::optional<std::size_t> read(std::string_view line) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (in_string_) {
        in_string_ = escaped_ || c != '"';
        escaped_ = !escaped_ && c == '\\';
      } else if (c == '"') {
        in_string_ = true;
      } else if (c == '{') {
        ++depth_;
      } else if (c == '}' && --depth_ == 0) {
        return i + 1;
      }
    }
    return std::nullopt;
  }

 private:
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false;
};

/// The object that begins in a line; `closed` tells whether it ends.
JsonSection section_at(const Text& text, std::size_t start, bool& closed) {
  JsonSection section{.json = {}, .first_line = text.lines[start].number, .last_line = 0};
  Nesting nesting;
  for (std::size_t i = start; i < text.lines.size(); ++i) {
    const auto& line = text.lines[i].text;
    const auto end = nesting.read(line);
    section.json += std::string_view(line).substr(0, end.value_or(line.size()));
    section.json += '\n';
    section.last_line = text.lines[i].number;
    closed = end.has_value();
    if (closed) break;
  }
  return section;
}

}  // namespace

std::vector<JsonSection> json_sections(const Text& text, std::string_view mark) {
  std::vector<JsonSection> sections;
  int objects = 0;
  for (std::size_t i = 0; i < text.lines.size() && objects < most_objects; ++i) {
    if (!trim(text.lines[i].text).starts_with('{')) continue;
    ++objects;
    bool closed = false;
    auto section = section_at(text, i, closed);
    const bool wanted = section.json.find(mark) != std::string::npos;
    if (!closed && wanted)
      throw Error(
          ErrorCode::bad_input,
          fmt::format("the JSON object that begins in line {} has no end", section.first_line));
    if (!closed) continue;
    i += static_cast<std::size_t>(section.last_line - section.first_line);
    if (wanted) sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace ringside
