// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/mailbox.hpp"

#include <algorithm>

namespace ringside::host {

void Mailbox::post(Envelope& envelope) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(&envelope);
  posted_.fetch_add(1, std::memory_order_release);
}

Envelope* Mailbox::take(int from) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const Envelope* e) { return e->from == from; });
  if (found == waiting_.end()) return nullptr;
  Envelope* envelope = *found;
  waiting_.erase(found);
  envelope->state.store(Envelope::State::taken, std::memory_order_relaxed);
  return envelope;
}

bool Mailbox::withdraw(const Envelope& envelope) {
  const std::lock_guard lock(mutex_);
  return std::erase(waiting_, &envelope) > 0;
}

}  // namespace ringside::host
