// SPDX-License-Identifier: MIT
/// What `ringside plan` says about a plan, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "ringside/collectives/cost.hpp"
#include "ringside/collectives/plan.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside::cli {

/// The element type that `ringside plan` counts in: float32.
inline constexpr std::size_t counted_element_bytes = 4;

/// The cost of a message of `bytes`, cut in the request's blocks as evenly as its elements allow.
/// Throws Error(bad_input) unless the bytes are whole elements.
[[nodiscard]] Cost count_cost(const Plan& plan, std::uint64_t bytes);

/// The short page: request, shape, ops, the prover's verdict, cost. `proof` is null where the
/// prover was not asked because of the number of ranks.
[[nodiscard]] std::string page_text(const Plan& plan, const Proof* proof, const Cost& cost,
                                    std::uint64_t bytes);

[[nodiscard]] std::string proof_text(const Plan& plan, const Proof& proof);
[[nodiscard]] std::string proof_json(const Plan& plan, const Proof& proof);

/// Per rank and per link; long lists are cut, saying so.
[[nodiscard]] std::string cost_text(const Plan& plan, const Cost& cost, std::uint64_t bytes);
[[nodiscard]] std::string cost_json(const Plan& plan, const Cost& cost, std::uint64_t bytes);

}  // namespace ringside::cli
