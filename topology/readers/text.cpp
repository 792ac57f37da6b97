// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Windows shells write UTF-16; what we read is ASCII, so anything else becomes '?'.
std::string from_utf16(std::string_view raw, bool big_endian) {
  std::string text;
  text.reserve(raw.size() / 2);
  for (std::size_t i = 0; i + 1 < raw.size(); i += 2) {
    const auto low = static_cast<unsigned char>(raw[i + (big_endian ? 1 : 0)]);
    const auto high = static_cast<unsigned char>(raw[i + (big_endian ? 0 : 1)]);
    text += high == 0 && low < 0x80 ? static_cast<char>(low) : '?';
  }
  return text;
}

/// The length of an escape sequence that starts at `at`, which is ESC.
std::size_t escape_length(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  if (end >= text.size()) return 1;
  if (text[end] == '[') {  // CSI: parameters, then one final byte
    ++end;
    while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
    return std::min(end + 1, text.size()) - at;
  }
  if (text[end] == ']') {  // OSC: up to BEL or ESC backslash, within its line
    while (end < text.size() && text[end] != '\a' && text[end] != '\x1b' && text[end] != '\n')
      ++end;
    if (end < text.size() && text[end] == '\x1b') ++end;
    return std::min(end + 1, text.size()) - at;
  }
  return 2;
}

/// "[4m", "[0;31m": a colour whose escape byte got lost. Nothing else that we read looks like it.
std::size_t bare_colour_length(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (is_digit(text[end]) || text[end] == ';')) ++end;
  const bool colour = end > at + 1 && end - at <= 12 && end < text.size() && text[end] == 'm';
  return colour ? end + 1 - at : 0;
}

/// Blanks and marks beyond ASCII, in UTF-8: how long, and whether something is left in its place.
struct Foreign {
  std::size_t length = 0;
  bool blank = false;
};

Foreign foreign_blank(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at, 3);
  if (rest.starts_with("\xc2\xa0")) return {2, true};  // no-break space
  if (rest == "\xe3\x80\x80" || rest == "\xe2\x80\xaf") return {3, true};
  if (rest == "\xef\xbb\xbf") return {3, false};  // byte order mark
  if (rest.size() == 3 && rest.starts_with("\xe2\x80")) {
    const auto last = static_cast<unsigned char>(rest[2]);
    if (last >= 0x80 && last <= 0x8a) return {3, true};   // spaces of all widths
    if (last >= 0x8b && last <= 0x8f) return {3, false};  // of no width, and direction marks
  }
  return {};
}

/// The length of the character beyond ASCII that starts at `at`, in UTF-8 (RFC 3629); 0: it is
/// none.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const unsigned first = byte(0), second = byte(1);
  const std::size_t length = first < 0xc2   ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < length; ++i)
    if (byte(i) < 0x80 || byte(i) >= 0xc0) return 0;
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool beyond = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

std::string without_quote_marks(std::string_view line) {
  std::string_view rest = line;
  while (true) {
    const auto mark = rest.find_first_not_of(' ');
    if (mark == std::string_view::npos) break;
    const std::size_t length = rest.substr(mark).starts_with("&gt;") ? 4
                               : rest[mark] == '>'                   ? 1
                                                                     : 0;
    if (length == 0) break;
    rest.remove_prefix(mark + length);
    if (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  return std::string(rest);
}

/// "[1,0]<stdout>:" of mpirun --tag-output.
std::string_view without_rank_tag(std::string_view line) {
  const auto start = line.find_first_not_of(' ');
  if (start == std::string_view::npos || line[start] != '[') return line;
  for (const std::string_view end : {"<stdout>:", "<stderr>:"})
    if (const auto at = line.find(end); at != std::string_view::npos && at - start < 40)
      return line.substr(at + end.size());
  return line;
}

std::string clean_line(std::string_view line) {
  const std::string unquoted = without_quote_marks(line);
  std::string_view rest = unquoted;
  for (auto untagged = without_rank_tag(rest); untagged.size() < rest.size();
       untagged = without_rank_tag(rest))
    rest = untagged;
  return std::string(rest);
}

/// A text out of a JSON file or a log of such: its lines are joined by backslash n.
bool is_escaped(std::string_view raw) {
  std::size_t escaped = 0;
  for (auto at = raw.find("\\n"); at != std::string_view::npos && escaped < 100;
       at = raw.find("\\n", at + 2))
    ++escaped;
  return escaped >= 3 && escaped > 3 * static_cast<std::size_t>(std::ranges::count(raw, '\n'));
}

std::string unescaped(std::string_view raw) {
  static constexpr std::array<std::pair<std::string_view, char>, 7> escapes = {{{"\\n", '\n'},
                                                                                {"\\t", '\t'},
                                                                                {"\\r", '\r'},
                                                                                {"\\\"", '"'},
                                                                                {"\\u001b", '\x1b'},
                                                                                {"\\x1b", '\x1b'},
                                                                                {"\\\\", '\\'}}};
  std::string text;
  text.reserve(raw.size());
  for (std::size_t at = 0; at < raw.size();) {
    const auto escape = std::ranges::find_if(
        escapes, [&](const auto& each) { return raw.substr(at).starts_with(each.first); });
    const bool found = raw[at] == '\\' && escape != escapes.end();
    text += found ? escape->second : raw[at];
    at += found ? escape->first.size() : 1;
  }
  return text;
}

class Cleaner {
 public:
  explicit Cleaner(const TextLimits& limits) : limits_(limits) {}

  Text clean(std::string_view raw) {
    for (std::size_t at = 0; at < raw.size();) at += take(raw, at);
    const bool unfinished = !line_.empty();
    if (unfinished) end_line();
    text_.cut = unfinished;
    return std::move(text_);
  }

 private:
  /// Deals with what starts at `at` and returns its length.
  std::size_t take(std::string_view raw, std::size_t at) {
    const char c = raw[at];
    if (c == '\n') return end_line(), 1;
    if (c == '\r') {
      const bool with_newline = at + 1 < raw.size() && raw[at + 1] == '\n';
      return end_line(), with_newline ? 2 : 1;
    }
    if (c == '\x1b') return escape_length(raw, at);
    if (c == '[')
      if (const auto length = bare_colour_length(raw, at)) return length;
    if (static_cast<unsigned char>(c) >= 0x80) return take_foreign(raw, at);
    if (c == '\0') throw Error(ErrorCode::bad_input, "not a text: it holds zero bytes");
    if (c == '\t' || c >= 0x20) put(raw.substr(at, 1));
    return 1;
  }

  std::size_t take_foreign(std::string_view raw, std::size_t at) {
    if (const auto blank = foreign_blank(raw, at); blank.length > 0) {
      if (blank.blank) put(" ");
      return blank.length;
    }
    const std::size_t length = character_length(raw, at);
    put(length > 0 ? raw.substr(at, length) : "\xef\xbf\xbd");  // U+FFFD
    return std::max<std::size_t>(length, 1);
  }

  /// A character whole or not at all.
  void put(std::string_view character) {
    if (line_.size() + character.size() <= limits_.line_bytes) line_ += character;
  }

  void end_line() {
    text_.lines.push_back({.number = ++number_, .text = clean_line(line_)});
    line_.clear();
  }

  const TextLimits& limits_;
  Text text_;
  std::string line_;
  int number_ = 0;
};

}  // namespace

Text clean_text(std::string_view raw, const TextLimits& limits) {
  if (raw.size() > limits.bytes)
    throw Error(ErrorCode::bad_input,
                fmt::format("{} are too much text (at most {})", format_bytes(raw.size()),
                            format_bytes(limits.bytes)));
  if (raw.starts_with("\xff\xfe")) return Cleaner(limits).clean(from_utf16(raw.substr(2), false));
  if (raw.starts_with("\xfe\xff")) return Cleaner(limits).clean(from_utf16(raw.substr(2), true));
  return is_escaped(raw) ? Cleaner(limits).clean(unescaped(raw)) : Cleaner(limits).clean(raw);
}

std::span<const TextLine> lines_between(const Text& text, int after, int before) {
  const auto first = static_cast<std::size_t>(std::max(after, 0));  // line n has index n - 1
  const auto end = std::min(static_cast<std::size_t>(std::max(before - 1, 0)), text.lines.size());
  if (first >= end) return {};
  return std::span(text.lines).subspan(first, end - first);
}

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  constexpr std::string_view blanks = " \t";
  for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;
       at = line.find_first_not_of(blanks, at)) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back({.text = line.substr(at, end - at), .start = at});
    at = end;
  }
  return words;
}

std::optional<std::string_view> behind(std::string_view line, std::string_view phrase) {
  const auto at = line.find(phrase);
  if (at == std::string_view::npos) return std::nullopt;
  return trim(line.substr(at + phrase.size()));
}

}  // namespace ringside
