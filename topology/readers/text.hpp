// SPDX-License-Identifier: MIT
/// What people paste, made into lines that a reader can look at.
///
/// Taken off are: terminal escapes (also those that lost their first byte), carriage returns, byte
/// order marks, UTF-16, blanks that are no ASCII, the marks of quoted mail ("> ") and of mpirun
/// ("[1,0]<stdout>:"). A text whose lines are joined by backslash n is taken apart. Bytes that are
/// no UTF-8 become U+FFFD, so that what is read can be written. Everything else, also indentation
/// and tabs, is the readers' matter.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ringside {

struct TextLine {
  int number = 0;  ///< in the input, from 1
  std::string text;
};

struct Text {
  std::vector<TextLine> lines;
  /// The last line has no end: the input may have been cut there.
  bool cut = false;
};

/// Far above any input that we know: an NCCL log of 1,000 ranks has 20 MB.
struct TextLimits {
  std::size_t bytes = std::size_t{64} << 20;
  std::size_t line_bytes = std::size_t{64} << 10;  ///< longer ones are cut
};

/// Throws Error(bad_input) for what is no text, or too much of it.
[[nodiscard]] Text clean_text(std::string_view raw, const TextLimits& limits = {});

/// The lines after one and before another, by number.
[[nodiscard]] std::span<const TextLine> lines_between(const Text& text, int after, int before);

/// The words of a line, with the column at which each starts.
struct Word {
  std::string_view text;
  std::size_t start = 0;

  [[nodiscard]] std::size_t end() const { return start + text.size(); }
};
[[nodiscard]] std::vector<Word> words_of(std::string_view line);

/// What stands behind a phrase, without blanks around it; nothing where the line lacks the phrase.
[[nodiscard]] std::optional<std::string_view> behind(std::string_view line,
                                                     std::string_view phrase);

}  // namespace ringside
