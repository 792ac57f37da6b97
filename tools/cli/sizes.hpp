// SPDX-License-Identifier: MIT
/// Lists of message sizes on the command line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ringside::cli {

/// "64K", "1M,16M", "1K..1G" (each twice the one before), or several of them. Throws
/// Error(bad_input) naming the option.
[[nodiscard]] std::vector<std::uint64_t> sizes_in_bytes(std::string_view option,
                                                        std::string_view text);

}  // namespace ringside::cli
