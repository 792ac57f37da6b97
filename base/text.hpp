// SPDX-License-Identifier: MIT
/// Reading and writing small texts: numbers, sizes, durations, lists, names.
///
/// The parsers are strict: the whole text must be of the form described, without blanks around it,
/// or the result is empty. The caller knows what the text was for and words the error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/clock.hpp"

namespace ringside {

/// Without leading and trailing blanks (space, tab, CR, LF, vertical tab, form feed).
[[nodiscard]] std::string_view trim(std::string_view text);

/// The fields between the separators, empty ones included: "a,,b" has three, "" has one.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// The words between runs of blanks; "" has none.
[[nodiscard]] std::vector<std::string_view> split_blanks(std::string_view text);

[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);
[[nodiscard]] std::string join(std::span<const std::string_view> parts, std::string_view separator);

/// ASCII only.
[[nodiscard]] std::string to_lower(std::string_view text);
[[nodiscard]] std::string to_upper(std::string_view text);

/// Foreign text made fit for a one-line message: in double quotes, unprintable bytes as \n, \t or
/// \xNN, cut after `longest` characters with "..." behind.
[[nodiscard]] std::string quote(std::string_view text, std::size_t longest = 60);

/// A decimal integer: "-12", "0"; no plus sign, no blanks.
[[nodiscard]] std::optional<std::int64_t> parse_int(std::string_view text);

/// The same within [minimum, maximum].
[[nodiscard]] std::optional<std::int64_t> parse_int(std::string_view text, std::int64_t minimum,
                                                    std::int64_t maximum);

/// A finite decimal number: "1.5", "-2e-3"; not "inf", "nan" or hexadecimal.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// "true", "yes", "on", "1" or "false", "no", "off", "0", in any case.
[[nodiscard]] std::optional<bool> parse_bool(std::string_view text);

/// A number of bytes: "8", "64K", "1.5M", "2G", "1T" (in either case, as in nccl-tests), "64KiB",
/// "8B". K is always 1024. "KB" and "MB" are refused: they mean different things to different
/// people. A fraction must come out as whole bytes.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

/// A length of time, not negative: "300" (seconds), "1.5s", "100us", "20ms", "5ns", "5m", "1h".
[[nodiscard]] std::optional<Seconds> parse_duration(std::string_view text);

/// Ranks between separators: "0-1-3-2". Not negative, at least one; repeats are the caller's
/// matter.
[[nodiscard]] std::optional<std::vector<int>> parse_ranks(std::string_view text,
                                                          char separator = '-');

/// For people, at most one decimal: "8 B", "1 KiB", "1.5 MiB".
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

/// "between 512 KiB and 1 MiB": where something changes of which two sizes tell, and no other.
[[nodiscard]] std::string format_between(std::uint64_t before, std::uint64_t behind);

/// For programs and command lines: the shortest text that `parse_size` reads back: "8", "64K".
[[nodiscard]] std::string format_size(std::uint64_t bytes);

/// For people, three digits: "1.5 s", "100 us", "12.3 ms", "0 s".
[[nodiscard]] std::string format_duration(Seconds time);

/// The least number of single-character insertions, deletions and replacements that turn a into b.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that `name` probably meant, by edit distance without regard to case: at most a
/// third of the longer one's length away. The first of several equally near.
[[nodiscard]] std::optional<std::string_view> closest(std::string_view name,
                                                      std::span<const std::string_view> candidates);

/// ` (did you mean "ring"?)`, or nothing when no candidate is close: for the end of a message.
[[nodiscard]] std::string did_you_mean(std::string_view name,
                                       std::span<const std::string_view> candidates);

}  // namespace ringside
