// SPDX-License-Identifier: MIT
/// Where a file that is to be written ends up, and whether it can be: what takes long to make is
/// not lost at its end.
#pragma once

#include <string>

namespace ringside {

/// `path` with the symbolic links that its last name stands for followed, to a file that need not
/// exist. What cannot be followed (a circle) stays as it is. Throws Error(io) for a link of another
/// user's in a folder that all may write to: it may lead to a file that only we may write.
[[nodiscard]] std::string resolve_links(const std::string& path);

/// Throws Error(io), one line that names the file and the reason, if `write_file` could not write
/// it: a folder, or one that is not there or allows no new files.
void check_writable(const std::string& path);

}  // namespace ringside
