// SPDX-License-Identifier: MIT
/// A rank that is a process: enter, ops, leave, as on the host (executors/host), over memory that
/// the processes of a host share and messages between hosts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
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
  void add_message(const Message& message, const CallOptions& options, Over over) override;
  bool work_on_messages(const std::function<bool()>& more) override;
  [[nodiscard]] std::unique_ptr<Implementation> split(int color, int key) override;
  [[nodiscard]] std::shared_ptr<std::byte> shared_memory(std::size_t bytes) override;
  void check_threads() const override;
  void count_threads(int more) override { job_->count_threads(more); }

 private:
  /// Stays valid until the next call.
  const Prepared& prepared(const Call& call, bool shared);
  [[nodiscard]] bool in_shared_memory(const Call& call) const;

  void publish(const Call& call, const Prepared& prepared, bool shared, std::byte* scratch);
  void await_entries(const Call& call, const host::WaitPolicy& policy);
  /// Whether all have entered; a leader with other hosts moves the entries on.
  [[nodiscard]] bool all_entered();
  [[nodiscard]] bool entered(int rank) const {
    return board_->entry(rank, call_).call.load(std::memory_order_acquire) == call_;
  }
  [[nodiscard]] std::vector<int> missing() const;
  /// The placement of the call; throws if the ranks made different calls.
  [[nodiscard]] Placement agree() const;
  [[nodiscard]] bool all_shared() const;
  void fold_messages(const Call& call, const host::SmallMessage& message);

  void run_program(const Call& call, const Bound& bound, const host::WaitPolicy& policy);
  /// Returns when `ready` is true; throws the cause of a failure, or what `overdue` throws when the
  /// limit has passed. `ready` may work.
  template <class Ready, class Overdue>
  void await(Ready ready, const host::WaitPolicy& policy, host::Spins spins, Overdue overdue);
  [[noreturn]] void fail(const Error& cause);
  [[noreturn]] void give_up();

  std::shared_ptr<Job> job_;
  std::shared_ptr<Board> board_;
  Tags tags_;
  Exchange exchange_;
  Watch watch_;
  Plans plans_;
  Runner runner_;
  Messages messages_;
  host::WaitPolicy policy_;
  std::string default_spec_;                           // the option `algorithm`
  std::array<CallCache<Prepared>, 2> prepared_calls_;  // by whether the own buffers are shared
  std::uint64_t call_ = 0;                             // number of the call under way
  std::array<std::uint64_t, 2> published_ = {};        // digest of the signature in either entry
  std::vector<int> others_;                            // ranks but this
  std::size_t first_late_ = 0;                         // of them, that was not seen to have entered
  std::vector<const std::byte*> sources_;
};

}  // namespace ringside::mpi
