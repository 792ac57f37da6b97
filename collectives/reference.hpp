// SPDX-License-Identifier: MIT
/// The reference interpreter: a plan's meaning, on real memory, one op after another in listed
/// order with the scalar arithmetic of reference_fold. Every executor must equal it bit for bit.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ringside/collectives/plan.hpp"
#include "ringside/collectives/reduction/types.hpp"

namespace ringside {

/// The buffers of all ranks. In place, a rank's input and output point to the same memory as
/// layout.hpp says.
struct PlanBuffers {
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
};

/// What a call adds to a plan.
struct PlanArguments {
  std::vector<std::size_t> block_elements;
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  double scalar = 1.0;  ///< premul_sum
};

/// Runs the plan. Slices and lanes do not matter here. Requires a well-formed plan. Throws
/// Error(unsupported) where require_scalable does, for premul_sum.
void run_reference(const Plan& plan, const PlanArguments& arguments, const PlanBuffers& buffers);

}  // namespace ringside
