// SPDX-License-Identifier: MIT
/// A collective as calls of NCCL in a stream: its own collective where it has one, else a group of
/// sends and receives, or of broadcasts or reduces for unequal blocks.
#pragma once

#include <functional>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/external/nccl/rank_comm.hpp"

namespace ringside::nccl {

/// Where a rank's calls go.
struct Target {
  const RankComm& comm;
  int rank;
  int ranks;
  Stream stream;
  void* word = nullptr;  ///< 4 bytes of device memory, for barriers
  /// Waits for what NCCL has begun and not ended (it was told not to block); returns how it ended.
  std::function<Result()> settle;
};

/// Throws Error(unsupported) for a type that this NCCL does not have, and for buffers that are not
/// aligned to their elements.
void require(const Library& library, const Call& call, int rank, int ranks);
void require(const Library& library, const Message& message);

/// Enqueues the call. Throws Error(device) if NCCL refuses.
void enqueue(const Call& call, const Target& target);

/// One message and the stream that it is ordered in.
struct Routed {
  Message message;
  Stream stream;
};
/// Enqueues all of them as one group.
void enqueue(const std::vector<Routed>& messages, const Target& target);

}  // namespace ringside::nccl
