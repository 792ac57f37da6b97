// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/messages.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>

#include "ringside/base/keep.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/executors/host/job.hpp"
#include "ringside/collectives/executors/host/message_errors.hpp"

namespace ringside::host {
namespace {

using State = Envelope::State;

}  // namespace

void Messages::add(const Message& message, Seconds limit, Over over) {
  if (auto error = exception_of([&] { shared_.failure().throw_if_set(rank_); }))
    return over(std::move(error));
  Peer& peer = peers_[message.peer];
  const bool sends = message.direction == Message::Direction::send;
  Transfer& transfer =
      (sends ? peer.sends : peer.receives).emplace_back(message, limit, std::move(over));
  next_limit_ = std::min(next_limit_, clock_.elapsed() + limit);
  if (!sends) {
    peer.looks = true;
    return;
  }
  transfer.envelope.from = rank_;
  transfer.envelope.data = static_cast<const std::byte*>(message.data);
  transfer.envelope.elements = message.elements;
  transfer.envelope.type = message.type;
  shared_.mailbox(message.peer).post(transfer.envelope);
}

bool Messages::work(WaitPolicy policy, const std::function<bool()>& more) {
  const auto& failed = shared_.failure().flag();
  while (!peers_.empty()) {
    policy_ = policy;
    policy.limit = next_limit_ - clock_.elapsed();
    shared_.job().adapt(policy);
    const auto result = wait_until([&] { return advance() || more(); }, policy, failed);
    if (result == WaitResult::timed_out) fail_overdue();
    if (failed.load(std::memory_order_acquire)) give_up();
    if (more()) return false;
  }
  next_limit_ = Seconds{std::numeric_limits<double>::infinity()};
  return true;
}

bool Messages::advance() {
  bool moved = false;
  for (auto at = peers_.begin(); at != peers_.end();) {
    Peer& peer = at->second;
    moved |= advance_sends(peer);
    moved |= advance_receives(at->first, peer);
    at = peer.sends.empty() && peer.receives.empty() ? peers_.erase(at) : std::next(at);
  }
  return moved || shared_.failure().flag().load(std::memory_order_relaxed);
}

bool Messages::advance_sends(Peer& peer) {
  bool moved = false;
  while (!peer.sends.empty() && advance_send(peer.sends.front())) {
    peer.sends.pop_front();
    moved = true;
  }
  return moved;
}

bool Messages::advance_receives(int from, Peer& peer) {
  if (peer.receives.empty()) return false;
  Mailbox& mailbox = shared_.mailbox(rank_);
  const bool gone = shared_.gone(from);  // before looking: what it sent, it sent before it went
  bool moved = false;
  if (const auto posted = mailbox.posted(); peer.looks || posted != peer.looked_at) {
    peer.looks = false;
    peer.looked_at = posted;
    while (!peer.receives.empty()) {
      Envelope* envelope = mailbox.take(from);
      if (envelope == nullptr) break;
      receive(peer.receives.front(), *envelope);
      peer.receives.pop_front();
      moved = true;
    }
  }
  if (gone && !peer.receives.empty()) fail_gone(peer.receives.front());
  return moved;
}

bool Messages::advance_send(Transfer& transfer) {
  const int peer = transfer.message.peer;
  Envelope& envelope = transfer.envelope;
  switch (envelope.state.load(std::memory_order_acquire)) {
    case State::posted:
      if (shared_.gone(peer) && envelope.state.load(std::memory_order_acquire) == State::posted)
        fail_gone(transfer);
      return false;
    case State::taken:
      return false;
    case State::copied:
      transfer.over(nullptr);
      return true;
    case State::failed:
      transfer.over(exception_of([&] { shared_.failure().throw_cause(rank_); }));
      return true;
    case State::mismatched:
      transfer.over(std::make_exception_ptr(message_mismatch(
          transfer.message, rank_, envelope.expected_elements, envelope.expected_type)));
      return true;
  }
  return false;
}

void Messages::receive(Transfer& transfer, Envelope& envelope) {
  const Message& message = transfer.message;
  if (envelope.elements != message.elements || envelope.type != message.type) {
    auto error =
        std::make_exception_ptr(message_mismatch(message, rank_, envelope.elements, envelope.type));
    envelope.expected_elements = message.elements;
    envelope.expected_type = message.type;
    envelope.state.store(State::mismatched, std::memory_order_release);
    return transfer.over(std::move(error));
  }
  try {
    if (message.elements > 0) copy(transfer, envelope);
  } catch (const Error& error) {
    shared_.failure().set(error);
    envelope.state.store(State::failed, std::memory_order_release);
    return transfer.over(std::current_exception());
  }
  envelope.state.store(State::copied, std::memory_order_release);
  transfer.over(nullptr);
}

void Messages::copy(const Transfer& transfer, const Envelope& envelope) {
  const Message& message = transfer.message;
  const std::size_t bytes = message.elements * size_of(message.type);
  if (!copy_) {
    std::memmove(message.data, envelope.data, bytes);
    return;
  }
  CopyEnd end{policy_, shared_.failure(), rank_};
  end.policy.limit = transfer.limit;
  copy_(message.data, envelope.data, bytes, end);
}

// --- failing -------------------------------------------------------------------------------------

const Messages::Transfer* Messages::most_urgent() const {
  const Transfer* urgent = nullptr;
  for (const auto& [rank, peer] : peers_)
    for (const auto* transfers : {&peer.sends, &peer.receives})
      for (const Transfer& transfer : *transfers)
        if (urgent == nullptr || transfer.rest() < urgent->rest()) urgent = &transfer;
  return urgent;
}

void Messages::fail_overdue() {
  const Transfer* urgent = most_urgent();
  const Seconds rest =
      urgent != nullptr ? urgent->rest() : Seconds{std::numeric_limits<double>::infinity()};
  if (rest <= Seconds{0})
    return shared_.failure().set(message_overdue(urgent->message, rank_, urgent->limit));
  next_limit_ = clock_.elapsed() + rest;
}

void Messages::fail_gone(const Transfer& transfer) {
  shared_.failure().set(message_without_peer(transfer.message, rank_));
}

void Messages::give_up() {
  for (auto& [rank, peer] : peers_)
    for (auto* transfers : {&peer.sends, &peer.receives})
      for (auto at = transfers->begin(); at != transfers->end();) {
        const auto transfer = at++;
        if (give_up(*transfer)) continue;
        std::list<Transfer> left;  // the receiver may still write in it
        left.splice(left.end(), *transfers, transfer);
        keep_for_ever(std::move(left));
      }
  peers_.clear();
}

bool Messages::give_up(Transfer& transfer) {
  const auto end_with_cause = [&] {
    transfer.over(exception_of([&] { shared_.failure().throw_cause(rank_); }));
  };
  if (!transfer.sends() || shared_.mailbox(transfer.message.peer).withdraw(transfer.envelope)) {
    end_with_cause();
    return true;
  }
  constexpr Seconds longest{10};
  WaitPolicy patient = policy_;
  patient.limit = copy_ ? std::min(longest, option<Seconds>("timeout"))
                        : Seconds{std::numeric_limits<double>::infinity()};  // one in memory ends
  const std::atomic<bool> never{false};
  const auto over = [&] {
    return transfer.envelope.state.load(std::memory_order_acquire) != State::taken;
  };
  if (wait_until(over, patient, never) == WaitResult::ready) {
    advance_send(transfer);
    return true;
  }
  end_with_cause();
  return false;
}

}  // namespace ringside::host
