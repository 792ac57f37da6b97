// SPDX-License-Identifier: MIT
/// Measurements between GPUs for people: a line for each kind of figure.
#pragma once

#include <string>

#include "ringside/topology/measurements.hpp"

namespace ringside {

/// "bandwidth one way, P2P on: 17.8 to 26.2 GB/s over 12 pairs, least GPU0 to GPU3"; "" for
/// nothing.
[[nodiscard]] std::string measured_text(const Measurements& measured);

}  // namespace ringside
