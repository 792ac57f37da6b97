// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/json_text.hpp"

#include <fmt/format.h>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside {
namespace {

/// More than anybody pastes; each that has no end is looked at up to the end of the text.
constexpr int most_objects = 64;

/// How deep in braces a text is, without regard to those in strings.
class Nesting {
 public:
  void read(std::string_view line) {
    for (const char c : line) {
      if (in_string_) {
        if (escaped_)
          escaped_ = false;
        else if (c == '\\')
          escaped_ = true;
        else
          in_string_ = c != '"';
      } else if (c == '"') {
        in_string_ = true;
      } else if (c == '{') {
        ++depth_;
      } else if (c == '}') {
        --depth_;
      }
    }
  }
  [[nodiscard]] bool is_closed() const { return depth_ <= 0; }

 private:
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false;
};

/// The object that begins in a line; `closed` is whether it ends.
JsonSection section_at(const Text& text, std::size_t start, bool& closed) {
  JsonSection section{.json = {}, .first_line = text.lines[start].number, .last_line = 0};
  Nesting nesting;
  for (std::size_t i = start; i < text.lines.size(); ++i) {
    section.json += text.lines[i].text + "\n";
    section.last_line = text.lines[i].number;
    nesting.read(text.lines[i].text);
    closed = nesting.is_closed();
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
