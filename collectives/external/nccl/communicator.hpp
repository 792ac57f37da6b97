// SPDX-License-Identifier: MIT
/// A rank whose calls NCCL does: the library that we compare with, behind the same Communicator.
///
/// The ranks are threads and meet on the host as the host executor's do, so different calls on
/// different ranks, missing ranks and time limits are noticed before NCCL is called. (NCCL itself
/// compares nothing, and its calls may block without limit until all ranks have made them: it
/// connects ranks when they first need it.) A call that is ordered in a stream of the caller's
/// meets only the first time that one of its kind is made; afterwards that all ranks make the same
/// calls, in streams, is between the caller and NCCL, and a call costs what NCCL's costs.
///
/// Values are NCCL's: its order of additions, and its `avg`, which multiplies every contribution by
/// 1/n, rounded to the type, and divides integers after the sum.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/executors/host/communicator.hpp"
#include "ringside/collectives/external/nccl/enqueue.hpp"
#include "ringside/collectives/external/nccl/parts.hpp"
#include "ringside/collectives/external/nccl/rank_comm.hpp"

namespace ringside::nccl {

class NcclCommunicator final : public Communicator::Implementation {
 public:
  /// `meeting`: the same rank's end on the host. To be made on the rank's thread, with its device
  /// current. Throws Error(device).
  NcclCommunicator(std::unique_ptr<host::HostCommunicator> meeting, std::shared_ptr<Parts> parts,
                   std::shared_ptr<RankComm> comm);
  /// Aborts NCCL's communicator if this one has failed: something may still wait in it.
  ~NcclCommunicator() override;

  [[nodiscard]] int rank() const override { return meeting_->rank(); }
  [[nodiscard]] int size() const override { return meeting_->size(); }
  void run(const Call& call) override;
  /// Throws Error(unsupported): NCCL chooses by itself.
  [[nodiscard]] Choice choice_for(const Request& request, std::size_t bytes,
                                  const CallOptions& options) const override;
  void abort(const std::string& why) override { meeting_->abort(why); }
  void add_message(const Message& message, const CallOptions& options, Over over) override;
  bool work_on_messages(const std::function<bool()>& more) override;
  /// Error(unsupported) before 2.18.
  [[nodiscard]] std::unique_ptr<Implementation> split(int color, int key) override;
  /// What is in the caller's streams is the caller's to wait for; NCCL's errors show here.
  void finish() override;
  void count_threads(int more) override { meeting_->count_threads(more); }
  void begin_thread() override { (void)cudaSetDevice(comm_->device()); }

 private:
  [[nodiscard]] host::Failure& failure() const { return meeting_->shared()->failure(); }
  [[nodiscard]] const Library& library() const { return comm_->library(); }
  /// How what NCCL has begun and not ended (it was told not to block) has ended.
  [[nodiscard]] Result settled(Comm comm, const host::WaitPolicy& policy) const;
  /// `policy` must outlive it.
  [[nodiscard]] Target target(Stream stream, const host::WaitPolicy& policy) const;
  /// Whether all ranks must come before NCCL may be called.
  [[nodiscard]] bool meets(const Call& call, std::uint64_t digest);

  /// Does what NCCL may refuse; an error fails the communicator for all.
  template <class Work>
  void guarded(Work&& work);
  /// Throws Error(device) for an error that has come since.
  void check_async() const;
  /// Returns when all in the rank's own stream is complete.
  void await_stream(const std::string& what, const host::WaitPolicy& policy);
  [[noreturn]] void give_up();

  void begin_messages();
  void fail_late_messages();
  void give_up_messages();

  std::unique_ptr<host::HostCommunicator> meeting_;
  std::shared_ptr<Parts> parts_;
  std::shared_ptr<RankComm> comm_;
  cuda::Stream stream_;
  cuda::DeviceMemory word_;                // for barriers
  std::unordered_set<std::uint64_t> met_;  // kinds of calls in streams
  std::uint64_t splits_ = 0;
  std::vector<Matching::End> added_, waiting_;  // messages not offered yet; not over yet
};

}  // namespace ringside::nccl
