// SPDX-License-Identifier: MIT
/// Whether ranks that are processes, each with a command line of its own, were told the same.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ringside/collectives/communicator.hpp"

namespace ringside::trainer {

/// Something that all ranks must have been told alike.
struct Told {
  std::string_view what;  ///< "batch"
  std::string value;
};

/// Throws Error(mismatch) on all ranks, naming the rank and what it is, if one was told something
/// else than rank 0: their calls would not fit each other. All ranks list the same in one order.
void check_agreement(std::span<const Told> told, Communicator& comm);

}  // namespace ringside::trainer
