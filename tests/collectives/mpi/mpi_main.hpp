// SPDX-License-Identifier: MIT
/// What tests share that are started by mpirun: every process runs the same cases side by side, and
/// only the first one reports what goes well.
#pragma once

#include <functional>

#include "ringside/base/error.hpp"
#include "ringside/collectives/world.hpp"

namespace ringside::tests {

/// That of all processes, made at the beginning.
[[nodiscard]] World& mpi_world();
[[nodiscard]] int mpi_rank();

/// Of the error that a call throws; a code that is none if it does not.
inline ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

/// What an all_reduce gives where each rank has its number, counted from one.
inline float sum_of_ranks(int ranks) { return static_cast<float>(ranks * (ranks + 1)) / 2; }

}  // namespace ringside::tests
