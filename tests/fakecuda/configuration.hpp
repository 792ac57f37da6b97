// SPDX-License-Identifier: MIT
/// What the FAKECUDA_* variables say. They are read here and nowhere else.
#pragma once

#include <string>

#include "ringside/tests/fakecuda/control.hpp"

namespace ringside::tests::fakecuda {

/// Throws std::invalid_argument for numbers that are none.
[[nodiscard]] Configuration configuration_of_environment();

/// FAKECUDA_KERNELS: colon separated paths of libraries of host kernels. Empty: the one beside the
/// double.
[[nodiscard]] std::string kernel_libraries();

/// FAKECUDA_LEAKS: what is alive when the process ends is printed.
[[nodiscard]] bool leaks_wanted();

/// Whether device `from` can reach the memory of device `to`, another one.
/// Throws std::invalid_argument if the configuration does not say.
[[nodiscard]] bool may_reach(const Configuration& configuration, int from, int to);

}  // namespace ringside::tests::fakecuda
