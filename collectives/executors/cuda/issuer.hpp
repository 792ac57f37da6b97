// SPDX-License-Identifier: MIT
/// How a communicator's calls are issued: step by step in streams, as a graph that was captured
/// when the same call was made before, or into a capture of the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ringside/collectives/executors/cuda/issue.hpp"
#include "ringside/collectives/executors/cuda/program.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/executors/cuda/scratch.hpp"
#include "ringside/collectives/executors/cuda/streams.hpp"

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
  /// it is spoiled meanwhile; Error(device). The calling thread must be BesideCaptures.
  void run(const Program& program, std::vector<RankCall> ranks);
  /// Every rank's stream comes behind all ranks' streams. Likewise.
  void barrier(std::vector<RankCall> ranks);

  /// An event behind the last call in a rank's part; for ranks without a stream.
  [[nodiscard]] cudaEvent_t done(int rank) const { return done_[static_cast<std::size_t>(rank)]; }
  /// The streams that a rank's operations were put in.
  [[nodiscard]] std::vector<cudaStream_t> used_by(int rank);

 private:
  /// A call with the same buffers, and what was made of it.
  struct CapturedCall {
    std::uint64_t program;
    std::vector<const void*> addresses;  // of all ranks
    std::int64_t calls = 0;
    std::uint64_t last_used = 0;
    std::optional<GraphExec> graph;
    std::vector<std::shared_ptr<void>> memory;  // scratch that the graph addresses
  };

  void complete(std::vector<RankCall>& ranks) const;
  void follow_streams(std::span<const RankCall> ranks);
  /// The number of the capture that all of the ranks' streams belong to, if they are captured.
  std::optional<unsigned long long> capture_of(std::span<const RankCall> ranks) const;
  void issue_into_capture(const Program& program, std::span<const RankCall> ranks);
  Streams& streams_for_capture();

  /// Null if the call is to be issued step by step.
  CapturedCall* captured(const Program& program, std::span<const RankCall> ranks);
  CapturedCall& remembered(const Program& program, std::span<const RankCall> ranks);
  /// Leaves the call without a graph if somebody spoils the capture.
  void capture(const Program& program, std::span<const RankCall> ranks, CapturedCall& call);
  /// None if the capture was spoiled: any thread's cudaDeviceSynchronize does that.
  std::optional<Graph> record(const Program& program, std::span<const RankCall> ranks);
  void launch(const CapturedCall& call, std::span<const RankCall> ranks);

  /// An event now, at the end of the stream.
  cudaEvent_t mark(cudaEvent_t event, cudaStream_t stream, int rank);
  void record_done(std::span<const RankCall> ranks);

  std::vector<int> devices_;
  IssueSetting setting_;
  std::int64_t calls_before_graph_;
  std::vector<Stream> own_;              // by rank: where it has given no stream
  std::vector<Event> own_done_;          // by rank
  std::vector<Event> own_entered_;       // by rank
  std::vector<unsigned long long> ids_;  // by rank: the user's stream that `order` knows
  std::vector<cudaEvent_t> done_;        // by rank
  Streams streams_;
  Scratch scratch_;

  Stream launches_;  // where graphs are launched, one after another
  Event launched_;
  Streams graph_streams_;  // that graphs are captured from
  Scratch graph_scratch_;
  std::vector<std::unique_ptr<CapturedCall>> captured_;
  std::uint64_t calls_ = 0;

  std::vector<std::unique_ptr<Streams>> user_captures_;
  std::vector<std::unique_ptr<Scratch>> user_scratch_;  // a captured call may run at any time
};

}  // namespace ringside::cuda
