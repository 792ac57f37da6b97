// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/messages.hpp"

#include <cstring>
#include <utility>

#include "ringside/collectives/executors/host/message_errors.hpp"

namespace ringside::mpi {

void Messages::add(const Message& message, Seconds limit, Over over) {
  if (board_.failure().set.load(std::memory_order_acquire))
    return over(std::make_exception_ptr(failed_before(board_)));
  auto& queue = queues_[{message.peer, message.direction == Message::Direction::send}];
  Transfer& transfer = queue.emplace_back();
  transfer.message = message;
  transfer.limit = limit;
  transfer.over = std::move(over);
  transfer.mine = {message.elements, static_cast<std::uint64_t>(message.type)};
}

bool Messages::work(const host::WaitPolicy& policy, const std::function<bool()>& more) {
  while (!queues_.empty()) {
    host::WaitPolicy unlimited = policy;
    unlimited.limit = Seconds{1e12};  // every message has its own
    host::Backoff backoff(unlimited);
    const auto ready = [&] { return advance() || more(); };
    if (!host::spin_until(ready, policy.spins))
      while (!ready()) {
        watch_.look();
        fail_overdue();
        if (board_.failure().set.load(std::memory_order_acquire)) break;
        backoff.pause();
      }
    if (more()) {  // who looks in now and then has to see this, too
      watch_.look();
      fail_overdue();
    }
    if (board_.failure().set.load(std::memory_order_acquire)) give_up();
    if (more()) return false;
  }
  return true;
}

bool Messages::advance() {
  bool moved = advance_to_oneself();
  for (auto at = queues_.begin(); at != queues_.end();) {
    Queue& queue = at->second;
    while (at->first.first != board_.rank() && !queue.empty() && advance(queue.front())) {
      queue.pop_front();
      moved = true;
    }
    at = queue.empty() ? queues_.erase(at) : std::next(at);
  }
  return moved;
}

bool Messages::advance(Transfer& transfer) {
  Transport& transport = board_.team().transport();
  const int peer = board_.member(transfer.message.peer);
  if (transfer.phase == Transfer::Phase::begins) {
    // The sender's envelope one way, the receiver's the other: each end sees both.
    const int own_tag = transfer.sends() ? tags_.envelopes() : tags_.answers();
    const int other_tag = transfer.sends() ? tags_.answers() : tags_.envelopes();
    transfer.in = transport.receive(&transfer.theirs, sizeof(Envelope), peer, other_tag);
    transfer.out = transport.send(&transfer.mine, sizeof(Envelope), peer, own_tag);
    transfer.phase = Transfer::Phase::envelope;
  }
  if (!transport.done(transfer.out) || !transport.done(transfer.in)) return false;
  if (transfer.phase == Transfer::Phase::envelope) {
    const auto& [mine, theirs] = std::pair(transfer.mine, transfer.theirs);
    if (mine.elements != theirs.elements || mine.type != theirs.type) {
      transfer.over(std::make_exception_ptr(
          host::message_mismatch(transfer.message, board_.rank(), theirs.elements,
                                 static_cast<ElementType>(theirs.type))));
      return true;
    }
    if (transfer.bytes() > 0) {
      if (transfer.sends())
        transfer.out = transport.send(transfer.message.data, transfer.bytes(), peer, tags_.data());
      else
        transfer.in =
            transport.receive(transfer.message.data, transfer.bytes(), peer, tags_.data());
    }
    transfer.phase = Transfer::Phase::data;
    if (!transport.done(transfer.out) || !transport.done(transfer.in)) return false;
  }
  transfer.over(nullptr);
  return true;
}

bool Messages::advance_to_oneself() {
  const auto sends = queues_.find({board_.rank(), true});
  const auto receives = queues_.find({board_.rank(), false});
  if (sends == queues_.end() || receives == queues_.end()) return false;
  bool moved = false;
  while (!sends->second.empty() && !receives->second.empty()) {
    Transfer out = std::move(sends->second.front());
    Transfer in = std::move(receives->second.front());
    sends->second.pop_front();
    receives->second.pop_front();
    moved = true;
    if (out.message.elements != in.message.elements || out.message.type != in.message.type) {
      const auto end_with = [&](Transfer& own, const Message& other) {
        own.over(std::make_exception_ptr(
            host::message_mismatch(own.message, board_.rank(), other.elements, other.type)));
      };
      end_with(out, in.message);
      end_with(in, out.message);
      continue;
    }
    if (out.bytes() > 0) std::memmove(in.message.data, out.message.data, out.bytes());
    out.over(nullptr);
    in.over(nullptr);
  }
  return moved;
}

// --- failing -------------------------------------------------------------------------------------

bool Messages::is_gone(const Transfer& transfer) const {
  return transfer.message.peer != board_.rank() && watch_.has_gone(transfer.message.peer);
}

void Messages::fail_overdue() {
  for (auto& [key, queue] : queues_) {
    for (Transfer& transfer : queue)
      if (transfer.since.elapsed() > transfer.limit)
        return fail(host::message_overdue(transfer.message, board_.rank(), transfer.limit));
    // One that has agreed to a message completes it before it goes.
    if (queue.empty() || queue.front().phase == Transfer::Phase::data || !is_gone(queue.front()))
      continue;
    // What it sent, it sent before it went: look again.
    if (advance()) return;
    const Transfer& transfer = queue.front();
    if (transfer.phase == Transfer::Phase::data) return;
    return fail(host::message_without_peer(transfer.message, board_.rank()));
  }
}

void Messages::fail(const Error& cause) {
  if (board_.failure().store(cause)) exchange_.send_failure(cause);
}

void Messages::give_up() {
  Transport& transport = board_.team().transport();
  for (auto& [key, queue] : queues_)
    for (Transfer& transfer : queue) {
      transport.drop(transfer.in);
      transport.drop(transfer.out);
      transfer.over(std::make_exception_ptr(board_.failure().cause().at_rank(board_.rank())));
    }
  queues_.clear();
}

}  // namespace ringside::mpi
