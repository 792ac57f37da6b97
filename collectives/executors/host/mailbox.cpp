// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/mailbox.hpp"

namespace ringside::host {

void Mailbox::post(Envelope& envelope) {
  const std::lock_guard lock(mutex_);
  Queue& queue = from_[envelope.from];
  (queue.oldest != nullptr ? queue.latest->next : queue.oldest) = &envelope;
  queue.latest = &envelope;
  posted_.fetch_add(1, std::memory_order_release);
}

Envelope* Mailbox::take(int from) {
  const std::lock_guard lock(mutex_);
  Queue& queue = from_[from];
  Envelope* envelope = queue.oldest;
  if (envelope == nullptr) return nullptr;
  queue.oldest = envelope->next;
  envelope->state.store(Envelope::State::taken, std::memory_order_relaxed);
  return envelope;
}

bool Mailbox::withdraw(const Envelope& envelope) {
  const std::lock_guard lock(mutex_);
  Queue& queue = from_[envelope.from];
  Envelope* before = nullptr;
  for (Envelope* at = queue.oldest; at != nullptr; before = at, at = at->next) {
    if (at != &envelope) continue;
    (before != nullptr ? before->next : queue.oldest) = at->next;
    if (queue.latest == at) queue.latest = before;
    return true;
  }
  return false;
}

}  // namespace ringside::host
