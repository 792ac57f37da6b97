// SPDX-License-Identifier: MIT
/// All-reduces of float32 sums written by hand for the threads and buffers of a stage, and bare
/// loops over the same bytes: how close to the limit, and how much the generality of plans costs.
///
/// Names ("-nt" behind: with streaming stores):
///
///     baseline:ring        a ring of pulls, chunk by chunk: rank r reads its predecessor's memory
///     baseline:two_shot    every rank folds its segment of all inputs into all outputs
///     baseline:fused       the same loop on as many threads as there are cores, one barrier a call
///     baseline:stream      each buffer by itself, read and written once: as fused, but no sums
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/bench/host_stage.hpp"
#include "ringside/bench/subject.hpp"

namespace ringside::bench {

[[nodiscard]] const std::vector<std::string_view>& baseline_names();

/// `name` is one of `baseline_names`, `buffers` those of the request.
[[nodiscard]] std::unique_ptr<Subject> make_baseline(std::string_view name, HostStage& stage,
                                                     Buffers buffers = Buffers::warm);

}  // namespace ringside::bench
