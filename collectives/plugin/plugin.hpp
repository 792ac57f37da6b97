// SPDX-License-Identifier: MIT
/// Algorithms from shared objects with the C interface of ringside_algorithm.h.
#pragma once

#include <string>
#include <vector>

namespace ringside {

/// Loads a shared object by its path (no folder is searched) and registers its algorithms, all or
/// none. Returns their names; those of before for a library that has been loaded already. It is
/// never unloaded. Safe to call from any thread.
///
/// The algorithms are found like any other from then on. What they write is proven before it runs.
/// A plan is built twice and must be the same, and is then kept: there is one for a request.
///
/// Throws Error(io) if the file cannot be loaded and Error(bad_input) if it is no plug-in of this
/// version or describes an algorithm that cannot be one; one line that names the file.
std::vector<std::string> load_plugin(const std::string& path);

/// Loads what the option `plugins` names, if it has not been loaded yet. Throws as load_plugin
/// does, every time until the option or the file is mended.
void load_configured_plugins();

}  // namespace ringside
