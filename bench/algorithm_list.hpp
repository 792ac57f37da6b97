// SPDX-License-Identifier: MIT
/// Which algorithms a request measures.
#pragma once

#include <memory>
#include <vector>

#include "ringside/bench/stage.hpp"
#include "ringside/bench/subject.hpp"

namespace ringside::bench {

/// Fails for a request that cannot be served before anything has been measured: for a spec that
/// cannot be run at a number of ranks with any of the collectives.
void check_algorithms(const BenchRequest& request);

/// The algorithms to measure of a collective, on `stage`. Those that are left out are noted: by
/// `all`, and of those named the ones that serve other collectives of the sweep.
[[nodiscard]] std::vector<std::unique_ptr<Subject>> make_algorithms(const BenchRequest& request,
                                                                    Stage& stage,
                                                                    std::vector<Skipped>& skipped);

/// What is asked of algorithms: of sendrecv an all_reduce, whose buffers are as long.
[[nodiscard]] Request request_for(const BenchRequest& request, Operation operation, int ranks);

}  // namespace ringside::bench
