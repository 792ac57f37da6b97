// SPDX-License-Identifier: MIT
/// Tables of predicted choices, reviewed and kept in tests/data/choices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::tests {

/// 1 KiB to 1 GiB, each `factor` times the one before.
[[nodiscard]] std::vector<std::uint64_t> table_sizes(std::uint64_t factor = 2);

/// The choices for all_reduce on all GPUs of a preset: a line for each size, and lines that head
/// them.
[[nodiscard]] std::string table_heading(std::string_view preset);
[[nodiscard]] std::vector<std::string> table_lines(std::string_view preset,
                                                   const std::vector<std::uint64_t>& sizes);

/// Where the reviewed table of a preset is.
[[nodiscard]] std::string table_path(std::string_view preset);

}  // namespace ringside::tests
