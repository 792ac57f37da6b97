// SPDX-License-Identifier: MIT
/// How much memory there is to share and to lock: `df /dev/shm`, `ulimit`, /proc/PID/limits.
#include <cmath>
#include <optional>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/host_facts.hpp"

namespace ringside {
namespace {

constexpr std::int64_t kibi = 1024;

/// What df counts in: the heading's "1K-blocks", "1M-blocks", "1B-blocks"; 1 KiB without one.
std::int64_t block_of(const Text& text, std::size_t at) {
  for (std::size_t above = at; above-- > 0 && at - above < 100;) {
    const std::string_view line = text.lines[above].text;
    if (line.find("Filesystem") == std::string_view::npos) continue;
    for (const auto word : split_blanks(line))
      if (word.ends_with("-blocks"))
        return static_cast<std::int64_t>(parse_size(word.substr(0, word.find('-'))).value_or(kibi));
    return kibi;
  }
  return kibi;
}

/// "64M" as `df -h` prints, else a number of blocks.
std::optional<std::int64_t> df_bytes(std::string_view word, std::int64_t block) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (const auto blocks = parse_int(word, 0, most)) return *blocks * block;
  const auto number = parse_number(word.substr(0, word.size() - 1));
  const auto unit = std::string_view("KMGT").find(word.empty() ? ' ' : word.back());
  if (!number || *number < 0 || *number > 1e6 || unit == std::string_view::npos)
    return std::nullopt;
  return std::llround(*number * std::pow(1024.0, static_cast<double>(unit) + 1));
}

/// "shm   65536  0  65536  0% /dev/shm"
void read_df(const Text& text, std::size_t at, std::vector<HostFact>& facts) {
  const auto words = split_blanks(text.lines[at].text);
  if (words.size() < 6 || words.back() != "/dev/shm" || !words[words.size() - 2].ends_with('%'))
    return;
  const auto block = block_of(text, at);
  const auto put = [&](const char* key, std::string_view word) {
    if (const auto bytes = df_bytes(word, block))
      facts.push_back(
          {HostFactKind::shared_memory, key, std::to_string(*bytes), text.lines[at].number});
  };
  put("size", words[words.size() - 5]);
  put("available", words[words.size() - 3]);
}

/// A number of units, or "unlimited"; nothing for anything else.
std::optional<std::string> limit_of(std::string_view word, std::int64_t unit) {
  if (word == "unlimited") return std::string(word);
  const auto number = parse_int(word, 0, std::int64_t{1} << 50);
  return number ? std::optional(std::to_string(*number * unit)) : std::nullopt;
}

}  // namespace

void read_memory_limits(const Text& text, std::size_t at, std::vector<HostFact>& facts) {
  read_df(text, at, facts);
  const std::string_view line = text.lines[at].text;
  std::optional<std::string> limit;
  if (const auto shell = behind(line, "max locked memory")) {
    const auto words = split_blanks(*shell);
    if (!words.empty()) limit = limit_of(words.back(), kibi);
  } else if (const auto process = behind(line, "Max locked memory")) {
    const auto words = split_blanks(*process);
    if (!words.empty()) limit = limit_of(words.front(), 1);
  } else if (at > 0 && trim(text.lines[at - 1].text).ends_with("ulimit -l")) {
    limit = limit_of(trim(line), kibi);
  }
  if (limit) facts.push_back({HostFactKind::limit, "memlock", *limit, text.lines[at].number});
}

}  // namespace ringside
