// SPDX-License-Identifier: MIT
/// Plan files as algorithms: the path of a file of our JSON (plan_io.hpp) stands wherever a spec
/// string does.
///
/// A file is one plan, for one request: it serves that request only. What it holds is proven before
/// it runs, as everything is; ranks that hold different plans are told by the plan's hash in the
/// signature of every call.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "ringside/collectives/plan.hpp"

namespace ringside {

/// The longest part of a path that a message quotes.
inline constexpr std::size_t longest_path = 200;

/// Reads a plan with suspicion, from a file, or from standard input for "-". Throws Error (io, or
/// bad_input) in one line that names the file. `plan.spec()` is what the file says of itself.
[[nodiscard]] Plan read_plan_file(const std::string& path);

/// The plan of a file, for a request. A file is read once in the life of a process: what it held
/// when it was first used is what this path means from then on, so that all ranks, worlds and
/// checks of a process speak of the same plan even if the file changes in the meantime. A file that
/// could not be read is tried again. Safe to call from any thread.
///
/// Where a root alone decides the placement (broadcast, reduce, gather, scatter), the other ranks
/// cannot tell which it is and prepare both: a file then stands for its ops in either placement,
/// which are proven in both like all that runs.
///
/// Throws as read_plan_file does, and Error(unsupported), saying what the file is for, if the
/// request is another.
[[nodiscard]] std::shared_ptr<const Plan> plan_of_file(const std::string& path,
                                                       const Request& request);

}  // namespace ringside
