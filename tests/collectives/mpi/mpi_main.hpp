// SPDX-License-Identifier: MIT
/// What tests share that are started by mpirun: every process runs the same cases side by side, and
/// only the first one reports what goes well.
#pragma once

#include <string>

#include "ringside/collectives/world.hpp"

namespace ringside::tests {

/// That of all processes, made at the beginning.
[[nodiscard]] World& mpi_world();
[[nodiscard]] int mpi_rank();

}  // namespace ringside::tests
