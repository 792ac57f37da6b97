// SPDX-License-Identifier: MIT
#include "ringside/collectives/external/nccl/matching.hpp"

#include "ringside/collectives/executors/host/message_errors.hpp"

namespace ringside::nccl {

void Matching::offer(int rank, const std::vector<End>& ends) {
  const std::lock_guard lock(mutex_);
  for (const End& end : ends) {
    const bool sends = end->message.direction == Message::Direction::send;
    const int from = sends ? rank : end->message.peer;
    const int to = sends ? end->message.peer : rank;
    Pair& pair = pairs_[{from, to}];
    auto& others = sends ? pair.receives : pair.sends;
    if (others.empty()) {
      (sends ? pair.sends : pair.receives).push_back(end);
      continue;
    }
    const End other = std::move(others.front());
    others.pop_front();
    meet(from, to, sends ? end : other, sends ? other : end);
  }
}

void Matching::meet(int from, int to, const End& send, const End& receive) {
  const Message& sent = send->message;
  const Message& expected = receive->message;
  if (sent.elements != expected.elements || sent.type != expected.type) {
    send->mismatch = host::message_mismatch(sent, from, expected.elements, expected.type);
    receive->mismatch = host::message_mismatch(expected, to, sent.elements, sent.type);
  }
  hand_over(from, send);
  hand_over(to, receive);
}

void Matching::hand_over(int rank, const End& end) {
  Met& met = met_[static_cast<std::size_t>(rank)];
  met.ends.push_back(end);
  met.any.store(true, std::memory_order_release);
}

std::vector<Matching::End> Matching::take(int rank) {
  const std::lock_guard lock(mutex_);
  Met& met = met_[static_cast<std::size_t>(rank)];
  met.any.store(false, std::memory_order_relaxed);
  return std::exchange(met.ends, {});
}

void Matching::withdraw(int rank) {
  const std::lock_guard lock(mutex_);
  for (auto& [ranks, pair] : pairs_) {
    if (ranks.first == rank) pair.sends.clear();
    if (ranks.second == rank) pair.receives.clear();
  }
}

}  // namespace ringside::nccl
