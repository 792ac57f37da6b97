// SPDX-License-Identifier: MIT
/// A communicator that counts what its calls move.
#pragma once

#include <cstdint>

#include "ringside/collectives/communicator.hpp"

namespace ringside::trainer {

/// Bytes that one rank sent to others and received from them: counted from the plans of the calls
/// that were made and from the messages, whatever the executor made of them.
struct Traffic {
  std::uint64_t sent = 0, received = 0;
  Traffic& operator+=(const Traffic& other) {
    sent += other.sent;
    received += other.received;
    return *this;
  }
  bool operator==(const Traffic&) const = default;
};

/// Makes the calls of `inner` and adds what this rank moves in them to `traffic`, which is to be
/// read between calls. No split. Both must outlive it. Error(unsupported) where the algorithm of a
/// call is not told (NCCL).
[[nodiscard]] Communicator counted(Communicator& inner, Traffic& traffic);

}  // namespace ringside::trainer
