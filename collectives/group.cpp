// SPDX-License-Identifier: MIT
#include "ringside/collectives/group.hpp"

#include <fmt/format.h>

#include <exception>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ringside/collectives/group_notes.hpp"
#include "ringside/collectives/message_memory.hpp"

namespace ringside {
namespace {

struct Noted {
  std::shared_ptr<CallQueue> queue;
  CallQueue::State call;
  bool waits;  ///< the group waits for it
};

/// Nothing of these will run.
void discard(std::span<const Noted> notes, const char* why) {
  for (const Noted& noted : notes)
    noted.call->finish(std::make_exception_ptr(Error(ErrorCode::aborted, why)));
}

/// Of this thread.
struct Groups {
  std::vector<Noted> notes;
  std::vector<std::size_t> starts;  // of the open groups, in `notes`

  ~Groups() { discard(notes, "the thread has ended in an open group"); }
};

Groups& groups() {
  thread_local Groups of_this_thread;
  return of_this_thread;
}

/// The calls on one communicator, in order.
struct Batch {
  std::shared_ptr<CallQueue> queue;
  std::vector<CallQueue::State> calls;
};

std::vector<Batch> batches_of(std::span<const Noted> notes) {
  std::vector<Batch> batches;
  for (const Noted& noted : notes) {
    auto batch = batches.begin();
    while (batch != batches.end() && batch->queue != noted.queue) ++batch;
    if (batch == batches.end()) batch = batches.insert(batch, Batch{noted.queue, {}});
    batch->calls.push_back(noted.call);
  }
  return batches;
}

[[noreturn]] void refuse(const char* why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("group: {}", why));
}

/// Messages that go on side by side on one communicator: to oneself there are as many sends as
/// receives.
void check_all_paired(const OwnMessages& own) {
  if (own.all_paired()) return;
  if (own.unpaired() == Message::Direction::send)
    refuse("a rank sends to itself without receiving it");
  refuse("a rank receives from itself without sending it");
}

/// None of the messages that go on side by side is received where another lies. Those of one
/// communicator do unless a collective is between them.
void check(std::span<const Noted> notes) {
  struct Run {
    OwnMessages own;
    std::size_t number = 0;  // of collectives before
  };
  std::map<const CallQueue*, Run> runs;
  std::vector<std::size_t> run_of(notes.size());
  MessageMemory memory;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    const CallQueue& queue = *notes[i].queue;
    Run& run = runs[&queue];
    run_of[i] = run.number;
    const Message* message = notes[i].call->message();
    if (message == nullptr) {
      check_all_paired(run.own);
      ++run.number;
      continue;
    }
    const auto partner = message->peer == queue.rank() ? run.own.add(i, message->direction)
                                                       : std::optional<MessageMemory::Number>();
    for (const auto other : memory.add(i, *message, partner))
      if (notes[other].queue.get() != &queue || run_of[other] == run.number)
        refuse("a message is received where another one of the group lies");
  }
  for (const auto& [queue, run] : runs) check_all_paired(run.own);
}

void start(const Batch& batch) {
  const auto error = exception_of([&] { batch.queue->push(batch.calls); });
  if (!error) return;
  for (const auto& call : batch.calls) call->finish(error);
}

/// Starts all calls; returns when those that the group waits for are over. The first of these that
/// failed, if any.
CallQueue::State run(std::span<Noted> notes, std::span<const Batch> batches) {
  bool all_wait = true;
  for (Noted& noted : notes) {
    noted.waits = noted.call->begin() || noted.waits;
    all_wait = all_wait && noted.waits;
  }
  // Calls on a single communicator wait for no other's: this thread can run them.
  if (!(all_wait && batches.size() == 1 && batches[0].queue->run_here(batches[0].calls)))
    for (const Batch& batch : batches) start(batch);
  CallQueue::State first;
  for (const Noted& noted : notes) {
    if (!noted.waits) continue;
    noted.call->await();
    if (!first && noted.call->failed()) first = noted.call;
  }
  return first;
}

}  // namespace

namespace detail {

constinit thread_local int open_groups = 0;

void note_in_group(std::shared_ptr<CallQueue> queue, CallQueue::State call, bool blocking) {
  call->note();
  groups().notes.push_back({std::move(queue), std::move(call), blocking});
}

}  // namespace detail

void group_start() {
  groups().starts.push_back(groups().notes.size());
  ++detail::open_groups;
}

void group_end() {
  if (detail::open_groups == 0)
    throw Error(ErrorCode::invalid_argument, "group_end without group_start");
  groups().starts.pop_back();
  if (--detail::open_groups > 0) return;

  auto notes = std::exchange(groups().notes, {});
  const auto batches = batches_of(notes);
  if (const auto error = exception_of([&] { check(notes); })) {
    discard(notes, "the group was refused");
    std::rethrow_exception(error);
  }
  if (const auto failed = run(notes, batches)) failed->throw_if_failed();
}

void group_discard() {
  if (detail::open_groups == 0)
    throw Error(ErrorCode::invalid_argument, "group_discard without group_start");
  auto& [notes, starts] = groups();
  discard(std::span(notes).subspan(starts.back()), "the group was discarded");
  notes.resize(starts.back());
  starts.pop_back();
  --detail::open_groups;
}

namespace detail {

void refuse_open_groups(int rank) {
  if (open_groups == 0) return;
  while (open_groups > 0) group_discard();
  throw Error(ErrorCode::invalid_argument,
              fmt::format("rank {}: its body has left a group open: its calls have not run", rank))
      .at_rank(rank);
}

}  // namespace detail

void grouped(const std::function<void()>& body) {
  const int outside = detail::open_groups;
  const auto discard_to = [&](int level) {
    while (detail::open_groups > level) group_discard();
  };
  group_start();
  if (const auto error = exception_of(body)) {
    discard_to(outside);
    std::rethrow_exception(error);
  }
  if (detail::open_groups != outside + 1) {
    discard_to(outside);
    refuse("its body has left a group open, or closed one that it did not open");
  }
  group_end();
}

}  // namespace ringside
