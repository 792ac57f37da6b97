// SPDX-License-Identifier: MIT
/// Whole files in and out. Errors are `Error` (io, or bad_input for a file that is too large), one
/// line that names the file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ringside {

/// The most that `read_file` accepts unless told otherwise: far above any input we know, and small
/// enough that a wrong path does not fill the memory.
inline constexpr std::size_t default_file_limit = std::size_t{256} << 20;

/// The contents of the file at `path`; of standard input for "-". More than `limit` bytes are
/// refused (bad_input) after reading no more than that.
[[nodiscard]] std::string read_file(const std::string& path,
                                    std::size_t limit = default_file_limit);

/// Replaces the file at `path` by `contents` in one step: written to a temporary beside it, then
/// renamed, so that a reader sees the old file or the new one and an interrupted write changes
/// nothing. A symbolic link is followed; a device or pipe is written to directly; "-" is standard
/// output.
void write_file(const std::string& path, std::string_view contents);

}  // namespace ringside
