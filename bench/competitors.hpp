// SPDX-License-Identifier: MIT
/// What `--compare` names: other libraries, and loops written by hand.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/bench/host_stage.hpp"
#include "ringside/bench/report.hpp"
#include "ringside/bench/subject.hpp"

namespace ringside::bench {

/// All names that may stand in `--compare`, "all" among them.
[[nodiscard]] std::vector<std::string> competitor_names();

/// "openmpi,gloo" as names, "all" as every library. Throws Error(bad_input) for others.
[[nodiscard]] std::vector<std::string> parse_competitors(std::string_view text);

/// Throws Error(unsupported), saying what to install, if one that was asked for by name is not
/// here.
void check_competitors(const BenchRequest& request);

/// Buffers as long as the message that they have per rank beside ours, which has `buffers`.
[[nodiscard]] std::uint64_t competitor_buffers(const BenchRequest& request, std::uint64_t buffers);

/// They take turns with the algorithms of `stage`. What is of no use at this number of ranks, and
/// what `all` names but is not here, is left out and noted.
[[nodiscard]] std::vector<std::unique_ptr<Subject>> make_competitors(const BenchRequest& request,
                                                                     HostStage& stage,
                                                                     std::vector<Skipped>& skipped);

}  // namespace ringside::bench
