// SPDX-License-Identifier: MIT
/// A rank of the executor on GPUs.
///
/// The ranks are threads and meet as those of the host executor do: they publish {signature,
/// addresses, stream} and compare signatures before any buffer is touched. Then rank 0 issues the
/// whole plan for all of them, in listed order, and the others wait for that: an event must have
/// been recorded before somebody is made to wait for it. A call in a stream is over then; any other
/// waits until the GPUs have done the last operation at the rank's buffers.
///
/// After a time-out, an abort or an error of a device, GPUs may still be at work on the buffers:
/// synchronise with them before these are used for anything else.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/call_cache.hpp"
#include "ringside/collectives/executors/chosen_plans.hpp"
#include "ringside/collectives/executors/cuda/program.hpp"
#include "ringside/collectives/executors/cuda/shared.hpp"
#include "ringside/collectives/executors/host/communicator.hpp"

namespace ringside::cuda {

/// What a rank keeps of a call.
struct Prepared {
  host::SignedCall signed_call;
  ChosenPlans plans;
  /// By placement; of rank 0, made when it is first issued.
  std::array<std::unique_ptr<const Program>, 2> programs;

  [[nodiscard]] std::size_t bytes() const;
};

class CudaCommunicator final : public Communicator::Implementation {
 public:
  /// `meeting`: this rank's end of the meeting of `shared`.
  CudaCommunicator(std::shared_ptr<Shared> shared, std::unique_ptr<host::HostCommunicator> meeting);

  [[nodiscard]] int rank() const override { return meeting_->rank(); }
  [[nodiscard]] int size() const override { return meeting_->size(); }
  void run(const Call& call) override;
  [[nodiscard]] std::string on_machine(const Request& request, std::size_t bytes,
                                       const std::string& spec) const override {
    return shared_->on_machine(request, bytes, spec);
  }
  [[nodiscard]] Choice choice_for(const Request& request, std::size_t bytes,
                                  const CallOptions& options) const override;
  void abort(const std::string& why) override { meeting_->abort(why); }
  void add_message(const Message& message, const CallOptions& options, Over over) override;
  bool work_on_messages(const std::function<bool()>& more) override {
    return meeting_->work_on_messages(more);
  }
  [[nodiscard]] std::unique_ptr<Implementation> split(int color, int key) override;
  void finish() override;
  void count_threads(int more) override { meeting_->count_threads(more); }
  void begin_thread() override { (void)cudaSetDevice(shared_->device_of(rank())); }

 private:
  [[nodiscard]] Prepared prepare(const Call& call);
  void check_buffers(const Call& call) const;
  /// Enters, and issues the call or learns that it has been; its number. `stream`: where the rank's
  /// is, or null. Of rank 0, which always tells the others what has come of it, and of others.
  std::uint64_t lead(const Call& call, Prepared& prepared, std::byte* stream);
  std::uint64_t follow(const Call& call, const Prepared& prepared, std::byte* stream);
  /// Why it was not issued; sets the communicator's failure if no later call may come.
  std::optional<Error> issue(const Call& call, Prepared& prepared, Placement placement);
  [[nodiscard]] std::vector<RankCall> rank_calls() const;
  const Program& program(const Call& call, Prepared& prepared, Placement placement);
  void await_end(const Call& call);
  /// With checksums, when the own part is done: rank 0 compares all ranks' sums, and all learn of
  /// it.
  void compare_sums(const Call& call);
  [[nodiscard]] bool has_checksums() const { return shared_->meeting()->job().checksum(); }
  /// Fails if the device of any rank has failed by now: what this rank got may come from there.
  void check_devices();

  /// Sets the communicator's failure and throws it.
  [[noreturn]] void fail(const Error& cause);
  [[nodiscard]] host::Failure& failure() const { return shared_->meeting()->failure(); }

  std::shared_ptr<Shared> shared_;
  std::unique_ptr<host::HostCommunicator> meeting_;
  CallCache<Prepared> prepared_calls_;
  const Program* compared_ = nullptr;  // of the call under way, if it has checksums
};

}  // namespace ringside::cuda
