// SPDX-License-Identifier: MIT
/// How a communicator's calls are issued: step by step in streams, as a graph if the same call was
/// made before, or into a capture of the caller's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ringside/collectives/executors/cuda/graph_cache.hpp"
#include "ringside/collectives/executors/cuda/issue.hpp"
#include "ringside/collectives/executors/cuda/program.hpp"
#include "ringside/collectives/executors/cuda/rank_streams.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/executors/cuda/scratch.hpp"
#include "ringside/collectives/executors/cuda/streams.hpp"
#include "ringside/collectives/executors/cuda/user_captures.hpp"

namespace ringside::cuda {

/// Used by one thread at a time.
class Issuer {
 public:
  /// By rank: its device. Throws Error(device).
  explicit Issuer(const std::vector<int>& devices);
  /// Waits for what was issued, for a while; what never ends is left behind.
  ~Issuer();
  Issuer(const Issuer&) = delete;
  Issuer& operator=(const Issuer&) = delete;

  /// Issues a call: a rank's part in `ranks` without a stream gets one of our own. Throws
  /// Error(invalid_argument), with nothing done, if some of the ranks' streams are being captured
  /// and others are not, or if that capture has been spoiled; likewise, with nothing that runs, if
  /// it is spoiled meanwhile; Error(unsupported), likewise, for a program with checksums in a
  /// capture; Error(device). The calling thread must be BesideCaptures.
  void run(const Program& program, std::vector<RankCall> ranks);
  /// Every rank's stream comes behind all ranks' streams. Likewise.
  void barrier(std::vector<RankCall> ranks);

  /// What the last call with checksums has found, when all ranks' parts are done.
  [[nodiscard]] const SumTables& sums() const { return sums_; }

  /// An event behind the last call in a rank's part; for ranks without a stream, and with
  /// checksums.
  [[nodiscard]] cudaEvent_t done(int rank) const { return rank_streams_.done(rank); }
  /// The streams that a rank's operations were put in.
  [[nodiscard]] std::vector<cudaStream_t> used_by(int rank) const;

 private:
  /// `streams_.order` knows the ranks' streams of the call before.
  void follow_streams(std::span<const RankCall> ranks);
  void launch(cudaGraphExec_t graph, std::span<const RankCall> ranks);

  std::vector<int> devices_;
  CopyWay copies_;
  RankStreams rank_streams_;
  std::vector<unsigned long long> ids_;  // by rank: the user's stream that the order knows
  Streams streams_;
  Scratch scratch_;
  SumTables sums_;

  Stream launches_;  // where graphs are launched, one after another
  Event launched_;
  Scratch graph_scratch_;  // of all graphs
  GraphCache graphs_;
  UserCaptures user_captures_;
};

}  // namespace ringside::cuda
