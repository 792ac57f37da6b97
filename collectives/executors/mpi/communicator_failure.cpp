// SPDX-License-Identifier: MIT
/// How a communicator fails: who is to blame when a call does not go on, and how its rank gets out
/// of it.
#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "ringside/collectives/executors/host/agreement.hpp"
#include "ringside/collectives/executors/mpi/communicator.hpp"

namespace ringside::mpi {
namespace {

/// How long a rank that gives up waits for others to end what they do with its memory.
constexpr Seconds longest_retreat{1};

}  // namespace

// --- who is to blame -----------------------------------------------------------------------------

void MpiCommunicator::look_at_begun() {
  // While the rank computes it waits for nobody.
  constexpr Seconds most_between{10e-3};
  const Seconds time = now();
  begun_.waited += std::min(time - begun_.looked, most_between);
  begun_.looked = time;
  if (board_->failure().set.load(std::memory_order_acquire)) give_up();
  watch_.look();
  const bool timed_out = begun_.waited > begun_.policy.limit;
  if (begun_.bound == nullptr)
    entries_overdue(*begun_.call, begun_.policy, timed_out);
  else
    ops_overdue(*begun_.call, *begun_.bound, begun_.policy, timed_out);
}

void MpiCommunicator::entries_overdue(const Call& call, const host::WaitPolicy& policy,
                                      bool timed_out) {
  auto late = missing();
  if (late.empty()) {  // what was sent has not left
    if (!timed_out) return;
    for (const auto& ranks : board_->far_hosts()) late.push_back(ranks.front());
  }
  int gone = -1;
  for (const int rank : late)
    if (gone < 0 && watch_.has_gone(rank, call_)) gone = rank;
  if (gone >= 0) {
    // Where one has gone, others may just not have come yet.
    fail(host::missing_ranks({gone}, call.collective, call_, rank(), gone, policy.limit));
  }
  if (timed_out)
    fail(watch_.blame(host::missing_ranks(late, call.collective, call_, rank(), -1, policy.limit,
                                          [&](int peer) {
                                            return board_->is_near(peer)
                                                       ? board_->block(peer).planning.get()
                                                       : std::string();
                                          }),
                      late.front(), call_, policy.limit));
}

std::vector<int> MpiCommunicator::missing() const {
  std::vector<int> ranks;
  for (const int rank : others_)
    if (!entered(rank)) ranks.push_back(rank);
  return ranks;
}

void MpiCommunicator::ops_overdue(const Call& call, const Bound& bound,
                                  const host::WaitPolicy& policy, bool timed_out) {
  const auto obstacle = runner_.obstacle();
  if (!timed_out || !obstacle) return;
  fail(watch_.blame(
      host::unfinished_op(obstacle->peer, obstacle->op, call.collective,
                          bound.program.compiled->plan.spec(), call_, rank(), policy.limit),
      obstacle->peer, call_, policy.limit));
}

// --- getting out ---------------------------------------------------------------------------------

void MpiCommunicator::abort(const std::string& why) { end(host::aborted(why)); }

void MpiCommunicator::end(const Error& cause) {
  if (board_->failure().store(cause)) exchange_.send_failure(cause);
}

void MpiCommunicator::fail(const Error& cause) {
  end(cause);
  give_up();
}

void MpiCommunicator::give_up() {
  // Ranks in the middle of their ops stop at their next wait; who is not among them by now has seen
  // the failure and touches nothing. One that is dead or stopped is not waited for.
  runner_.drop();
  board_->block(rank()).busy.call.store(0, std::memory_order_seq_cst);
  const Stopwatch since;
  for (const int peer : board_->near()) {
    const auto& busy = board_->block(peer).busy.call;
    // (This rank may not have made a call yet.)
    while (peer != rank() && call_ != 0 && busy.load(std::memory_order_seq_cst) == call_ &&
           since.elapsed() < longest_retreat && !board_->team().has_died(board_->member(peer)))
      std::this_thread::yield();
  }
  while (!board_->failure().set.load(std::memory_order_acquire)) std::this_thread::yield();
  throw board_->failure().cause().at_rank(rank());
}

MpiCommunicator::~MpiCommunicator() {
  try {
    if (std::uncaught_exceptions() > 0)
      end(Error(ErrorCode::aborted, "a rank ended with an error"));
    board_->block(rank()).gone.store(true);
    exchange_.send_gone(call_);
  } catch (const std::exception&) {
    // The MPI refuses: the others will find out by themselves.
  }
}

}  // namespace ringside::mpi
