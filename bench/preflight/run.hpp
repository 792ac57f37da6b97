// SPDX-License-Identifier: MIT
/// Runs a preflight: the steps in a process of their own, which is killed when one takes too long.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "ringside/bench/preflight/report.hpp"

namespace ringside::bench::preflight {

/// Is told how many of how many steps are behind, and what comes now.
using Listener = std::function<void(std::size_t done, std::size_t total, const std::string& what)>;

/// `worker` is the command of a program that does what `run_worker` (worker.hpp) does. Hangs,
/// crashes and errors of the devices are results. Throws Error(unsupported) with one line if there
/// is nothing to look at: no CUDA, no driver, no device.
[[nodiscard]] Report run_preflight(const Request& request, const std::vector<std::string>& worker,
                                   const Listener& listener);

}  // namespace ringside::bench::preflight
