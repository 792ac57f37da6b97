// SPDX-License-Identifier: MIT
#include "ringside/base/cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/text.hpp"

namespace ringside {
namespace {

constexpr std::uint64_t assumed = std::uint64_t{32} << 20;

/// "32768K" in .../cache/index3/size, or nothing.
std::optional<std::uint64_t> listed_bytes(int index) {
  const std::string path = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index);
  if (!std::filesystem::exists(path)) return std::nullopt;
  try {
    return parse_size(trim(read_file(path)));
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::uint64_t find_last_cache() {
  std::uint64_t largest = 0;
  for (int index = 0; index < 8; ++index)
    largest = std::max(largest, listed_bytes(index).value_or(0));
  if (largest > 0) return largest;
  const long told = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return told > 0 ? static_cast<std::uint64_t>(told) : assumed;
}

}  // namespace

std::uint64_t last_cache_bytes() {
  static const std::uint64_t bytes = find_last_cache();
  return bytes;
}

}  // namespace ringside
