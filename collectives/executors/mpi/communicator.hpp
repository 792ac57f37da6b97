// SPDX-License-Identifier: MIT
/// A rank that is a process: enter, ops, leave, as on the host (executors/host), over memory that
/// the processes of a host share and messages between hosts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/call_cache.hpp"
#include "ringside/collectives/executors/host/waiting.hpp"
#include "ringside/collectives/executors/mpi/board.hpp"
#include "ringside/collectives/executors/mpi/exchange.hpp"
#include "ringside/collectives/executors/mpi/job.hpp"
#include "ringside/collectives/executors/mpi/messages.hpp"
#include "ringside/collectives/executors/mpi/plans.hpp"
#include "ringside/collectives/executors/mpi/runner.hpp"
#include "ringside/collectives/executors/mpi/watch.hpp"

namespace ringside::mpi {

class MpiCommunicator final : public Communicator::Implementation {
 public:
  /// `board`: connected. `context`: a number that no other communicator of its ranks has.
  MpiCommunicator(std::shared_ptr<Job> job, std::shared_ptr<Board> board, int context);
  ~MpiCommunicator() override;

  /// The communicator fails, unless it has: the others shall not wait for this rank.
  void end(const Error& cause);

  [[nodiscard]] int rank() const override { return board_->rank(); }
  [[nodiscard]] int size() const override { return board_->ranks(); }
  void run(const Call& call) override;
  [[nodiscard]] Choice choice_for(const Request& request, std::size_t bytes,
                                  const CallOptions& options) const override;
  void abort(const std::string& why) override;
  [[nodiscard]] std::string on_machine(const Request& request, std::size_t bytes,
                                       const std::string& spec) const override;
  void add_message(const Message& message, const CallOptions& options, Over over) override;
  bool work_on_messages(const std::function<bool()>& more) override;
  [[nodiscard]] std::unique_ptr<Implementation> split(int color, int key) override;
  [[nodiscard]] std::shared_ptr<std::byte> shared_memory(std::size_t bytes) override;
  [[nodiscard]] bool runs_where_awaited() override;
  void begin(const Call& call) override;
  [[nodiscard]] bool advance() override;
  void begin_thread() override;
  void count_threads(int more) override { job_->count_threads(more); }

 private:
  /// Stays valid until the next call.
  const Prepared& prepared(const Call& call, Memory memory);
  /// Of a call with these options, for an algorithm that is not ours.
  [[nodiscard]] PlanWait plan_wait(const CallOptions& options);
  /// Of the own buffers. Throws Error(invalid_argument) if they are of different kinds.
  [[nodiscard]] Memory memory_of(const Call& call) const;
  [[nodiscard]] Memory memory_of(const std::byte* buffer) const;
  /// Reserves scratch for the next call.
  [[nodiscard]] Where place(const Call& call, const Prepared& prepared, Memory memory);
  /// Waits for what is in the call's stream.
  void await_stream(const Call& call, Seconds limit) const;

  /// `small`: what travels in the entry, or null: `where` the buffers are does.
  void publish(const Call& call, const host::SignedCall& signed_call,
               const host::SmallMessage* small, const Where& where);
  void await_entries(const Call& call, const host::WaitPolicy& policy);
  /// Whether all have entered; a leader with other hosts moves the entries on.
  [[nodiscard]] bool all_entered();
  [[nodiscard]] bool entered(int rank) const {
    return board_->entry(rank, call_).call.load(std::memory_order_acquire) == call_;
  }
  [[nodiscard]] std::vector<int> missing() const;
  /// The placement of the call; throws if the ranks made different calls.
  [[nodiscard]] Placement agree() const;
  /// How the buffers of the call are reached; throws if some are memory of GPUs and some are not.
  [[nodiscard]] Reach agreed_reach(const Prepared& prepared) const;
  void fold_messages(const Call& call, const host::SmallMessage& message);

  /// What is to be run when all have entered; null: nothing, the call is over.
  [[nodiscard]] const Bound* settled(const Call& call, const Prepared& prepared);
  /// The rest of a call that has begun.
  void run_begun();
  void begin_ops();
  void begin_ops(const Bound& bound);
  void end_ops() { board_->block(rank()).busy.call.store(0, std::memory_order_release); }
  void run_program(const Call& call, const Bound& bound, const host::WaitPolicy& policy);
  void run_ops(const Call& call, const Bound& bound, const host::WaitPolicy& policy);
  /// With checksums; as host::HostCommunicator.
  void run_checked(const Call& call, const Bound& bound, const host::WaitPolicy& policy);
  void meet_again(const Call& call, const host::WaitPolicy& policy);
  /// To be called while the rank waits for others to enter, or for ops; they fail the communicator
  /// when it is time.
  void entries_overdue(const Call& call, const host::WaitPolicy& policy, bool timed_out);
  void ops_overdue(const Call& call, const Bound& bound, const host::WaitPolicy& policy,
                   bool timed_out);
  /// Runs what the MPI or the GPU may refuse; then the communicator fails.
  template <class Work>
  void guarded(Work work);
  /// Returns when `ready` is true; throws the cause of a failure, or what `overdue` throws when the
  /// limit has passed. `ready` may work.
  template <class Ready, class Overdue>
  void await(Ready ready, const host::WaitPolicy& policy, host::Spins spins, Overdue overdue);
  [[noreturn]] void fail(const Error& cause);
  [[noreturn]] void give_up();

  /// A call that goes on by `advance`.
  struct Begun {
    const Call* call = nullptr;
    const Prepared* prepared = nullptr;
    const Bound* bound = nullptr;  // null: not all have entered
    host::WaitPolicy policy;
    Seconds waited{0};  // so far, by looks that follow one another
    Seconds looked{0};
  };
  /// What a look at a call that does not go on has to see to.
  void look_at_begun();

  /// Throws Error(unsupported) where only another thread may make calls.
  void check_thread() const;

  std::shared_ptr<Job> job_;
  std::shared_ptr<Board> board_;
  std::thread::id maker_ = std::this_thread::get_id();
  Tags tags_;
  Exchange exchange_;
  Watch watch_;
  Plans plans_;
  Runner runner_;
  Messages messages_;
  host::WaitPolicy policy_;
  std::string default_spec_;                         // the option `algorithm`
  Gpu* gpu_;                                         // null: none
  std::vector<CallCache<Prepared>> prepared_calls_;  // by the memory of the own buffers
  host::SignedCall barrier_within_call_ = host::barrier_within_call();
  Runner::Memories own_;                         // of the call under way
  Memory memory_ = Memory::apart;                // of its buffers
  std::uint64_t call_ = 0;                       // number of the call under way
  std::array<std::uint64_t, 2> published_ = {};  // digest of the signature in either entry
  std::vector<int> others_;                      // ranks but this
  std::size_t first_late_ = 0;                   // of them, that was not seen to have entered
  std::vector<const std::byte*> sources_;
  Begun begun_;
  std::vector<std::byte> folded_;  // what goes to the GPU's memory
};

}  // namespace ringside::mpi
