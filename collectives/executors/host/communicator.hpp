// SPDX-License-Identifier: MIT
/// A rank of the host executor: enter, ops, leave, on the caller's thread.
///
/// *Enter* publishes {call number, signature, addresses} and waits for everybody's; if the
/// signatures differ, every rank sees so before any buffer was touched, and throws. A message small
/// enough travels in the entry, and the call is over with it (small_message.hpp). *Ops*: each lane
/// of the rank is a queue of steps; a step waits for the progress of other streams, folds, and
/// counts itself done. *Leave* waits for the last step of others that touches this rank's buffers.
/// Who fails waits until its peers have stopped, too: its buffers are its own again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/call_cache.hpp"
#include "ringside/collectives/executors/host/messages.hpp"
#include "ringside/collectives/executors/host/prepared.hpp"
#include "ringside/collectives/executors/host/program.hpp"
#include "ringside/collectives/executors/host/shared.hpp"
#include "ringside/collectives/executors/host/waiting.hpp"

namespace ringside::host {

class HostCommunicator final : public Communicator::Implementation {
 public:
  /// `calls_before`: how many calls to count as made already, the same on all ranks (for tests).
  /// `copy`: how messages are copied, where their buffers are not memory of the host.
  HostCommunicator(std::shared_ptr<Shared> shared, int rank, std::uint64_t calls_before = 0,
                   Messages::Copy copy = {});

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return shared_->ranks(); }
  void run(const Call& call) override;

  /// For executors whose ops run elsewhere: the ranks meet, compare their calls, and know each
  /// other's buffers until the next call.
  struct Meeting {
    Placement placement;
    std::uint64_t number;  ///< of the call
  };
  /// `extra`: one more address that a rank publishes. Throws as any call does.
  Meeting meet(const Call& call, const SignedCall& signed_call, std::byte* extra);
  /// A barrier within a call, a call of its own to those who count. Throws the cause of a failure.
  void meet_again(const Call& call, const WaitPolicy& policy);
  /// The number of the call that this rank entered last, whatever came of it.
  [[nodiscard]] std::uint64_t entered_calls() const { return call_; }
  /// After a meeting: does `work`, which may touch the buffers of all who met. A rank that gives
  /// the call up meanwhile waits for its end. Throws, with nothing done, if the communicator has
  /// failed.
  void work_on_call(const std::function<void()>& work);
  /// Of a rank, in the meeting under way; `scratch` is its extra address.
  [[nodiscard]] const Addresses& addresses_of(int rank) const {
    return shared_->entry(rank, call_).addresses;
  }
  [[nodiscard]] std::unique_ptr<HostCommunicator> split_ranks(int color, int key,
                                                              Messages::Copy copy);
  [[nodiscard]] const std::shared_ptr<Shared>& shared() const { return shared_; }
  [[nodiscard]] std::optional<Choice> named(const CallOptions& options) const {
    return named_choice(options, default_spec_);
  }
  /// Does `work`, which asks for plans. One that is not made in time is a failure of the
  /// communicator.
  void plan(const CallOptions& options, const std::function<void(const PlanWait&)>& work);
  /// How long such a call may wait.
  [[nodiscard]] WaitPolicy policy_for(const CallOptions& options) const;
  [[nodiscard]] Choice choice_for(const Request& request, std::size_t bytes,
                                  const CallOptions& options) const override;
  void abort(const std::string& why) override;
  void add_message(const Message& message, const CallOptions& options, Over over) override;
  bool work_on_messages(const std::function<bool()>& more) override;
  void count_threads(int more) override { shared_->job().count_threads(more); }
  [[nodiscard]] std::unique_ptr<Implementation> split(int color, int key) override {
    return split_ranks(color, key, {});
  }
  [[nodiscard]] std::shared_ptr<std::byte> shared_memory(std::size_t bytes) override;

 private:
  /// Stays valid until the next call.
  const Prepared& prepared(const Call& call);

  /// `small`: what travels in the entry, or null: the addresses do.
  void publish(const Call& call, const SignedCall& signed_call, const SmallMessage* small,
               std::byte* scratch);
  void await_entries(const Call& call, const WaitPolicy& policy);
  void await_late_entries(const Call& call, const WaitPolicy& policy);
  void await_late_entry(int peer, Backoff& backoff, const Call& call, const WaitPolicy& policy);
  [[nodiscard]] bool entered(int rank) const {
    return shared_->entry(rank, call_).call.load(std::memory_order_acquire) == call_;
  }
  /// Tells the peers which core this rank is on, if it has changed.
  void note_seat();
  /// Whether a rank was last seen on this rank's core (nobody is where every rank has one).
  [[nodiscard]] bool shares_core(int peer, const WaitPolicy& policy) const {
    return policy.crowded && peer != rank_ &&
           shared_->cpu_of(peer).load(std::memory_order_relaxed) == cpu_;
  }
  /// `gone`: a rank that has returned without entering, or -1.
  void fail_unless_complete(const Call& call, const WaitPolicy& policy, int gone);
  /// The placement of the call; throws if the ranks made different calls.
  Placement agree();
  Placement compare_calls();
  void collect_addresses();
  /// Asks for cache lines while there is time: for the first of the next call's entry, with which
  /// the peers are done, or for the rest of the peers' messages of up to `bytes` bytes.
  void prefetch_messages(std::size_t bytes);
  void fold_messages(const Call& call, const SmallMessage& message);

  void run_program(const Call& call, const Program& program, const WaitPolicy& policy);
  void run_ops(const Call& call, const Program& program, const WaitPolicy& policy);
  /// With checksums: between two more meetings, when all inputs are summed, and when all ranks have
  /// found their outputs right; so all of them learn of what any of them finds.
  void run_checked(const Call& call, const Program& program, const WaitPolicy& policy);
  template <class Execute>
  void run_single_lane(const Call& call, const Program& program, const WaitPolicy& policy,
                       Execute& execute);
  template <class Execute>
  void run_lanes(const Call& call, const Program& program, const WaitPolicy& policy,
                 Execute& execute);
  void execute(const Program& program, const Step& step);
  void execute_checked(const Program& program, const Step& step);
  void leave(const Call& call, const Program& program, const WaitPolicy& policy);

  [[nodiscard]] bool reached(const BoundWait& wait) const;
  [[nodiscard]] const BoundWait* first_unreached(const Program& program, const Step& step) const;
  void await(const BoundWait& wait, const Call& call, const Program& program,
             const WaitPolicy& policy);

  [[noreturn]] void fail(const Error& cause);
  [[noreturn]] void fail_waiting_for(const BoundWait& wait, const Call& call,
                                     const Program& program, const WaitPolicy& policy);
  /// Throws the communicator's cause once no peer is at work on this call's buffers.
  [[noreturn]] void give_up();

  std::shared_ptr<Shared> shared_;
  int rank_;
  WaitPolicy policy_;
  std::string default_spec_;  // the option `algorithm`
  Preparation preparation_;
  CallCache<Prepared> prepared_calls_;
  SignedCall barrier_within_call_ = barrier_within_call();
  std::uint64_t call_;  // number of the call under way
  int cpu_ = -1;        // where crowded: the core that this rank was last seen on

  std::array<std::uint64_t, 2> published_ = {};  // digest of the signature in either entry
  std::vector<std::byte*> bases_;                // by base_index
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> destinations_;
  std::vector<std::uint32_t> next_step_;  // per lane
  Messages messages_;
};

}  // namespace ringside::host
