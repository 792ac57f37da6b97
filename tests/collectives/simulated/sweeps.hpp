// SPDX-License-Identifier: MIT
/// What must hold for all plans and machines, tried on as many as there is time for.
#pragma once

namespace ringside::tests {

/// Of all cases every `stride`-th is tried. Both expect a number of cases, so that they cannot run
/// empty.

/// A simulation equals the reference: every collective, algorithm, placement, slicing, depth and
/// number of lanes; on a machine with narrow links, and on one whose GPUs do not reach each other.
void expect_simulations_equal_the_reference(int stride, int least_cases);

/// No simulated time is below a bound that no plan can beat: every preset, collective and
/// algorithm, with slices and without, small messages and large ones.
void expect_simulations_keep_the_bounds(int stride, int least_cases);

/// Simulations of double trees in many slices end, and keep the bounds: every preset, 16 to 512
/// slices, 64 MiB to 16 GiB. On switches that nearly tie, rates are easily worked out for ever.
void expect_many_slices_end(int stride, int least_cases);

}  // namespace ringside::tests
