// SPDX-License-Identifier: MIT
/// What every rank says, brought to all.
#pragma once

#include <type_traits>
#include <vector>

#include "ringside/collectives/communicator.hpp"

namespace ringside::trainer {

/// Every rank's value, by rank; all ranks call it. The values travel as their bytes, which all
/// ranks, being one program, read alike.
template <class Value>
[[nodiscard]] std::vector<Value> gathered(Communicator& comm, const Value& own) {
  static_assert(std::is_trivially_copyable_v<Value>);
  std::vector<Value> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(&own, all.data(), sizeof(Value), ElementType::uint8);
  return all;
}

}  // namespace ringside::trainer
