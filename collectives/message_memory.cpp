// SPDX-License-Identifier: MIT
#include "ringside/collectives/message_memory.hpp"

#include <iterator>
#include <utility>

#include "ringside/collectives/reduction/types.hpp"

namespace ringside {

MessageMemory::Pieces::iterator MessageMemory::split(std::uintptr_t at) {
  const auto next = from_.lower_bound(at);
  if (next != from_.end() && next->first == at) return next;
  Users users;
  if (next != from_.begin()) users = std::prev(next)->second;
  noted_ += 1 + users.senders.size();
  return from_.emplace_hint(next, at, std::move(users));
}

std::vector<MessageMemory::Number> MessageMemory::add(Number number, const Message& message,
                                                      std::optional<Number> partner) {
  std::vector<Number> others;
  if (message.elements == 0) return others;
  const auto begin = reinterpret_cast<std::uintptr_t>(message.data);
  const auto end = split(begin + message.elements * size_of(message.type));
  for (auto at = split(begin); at != end; ++at) {
    Users& users = at->second;
    if (users.receiver && users.receiver != partner) others.push_back(*users.receiver);
    if (message.direction == Message::Direction::send) {
      users.senders.push_back(number);
      ++noted_;
      continue;
    }
    bool of_partner = false;
    for (const Number sender : users.senders) {
      if (sender == partner)
        of_partner = true;
      else
        others.push_back(sender);
    }
    users.receiver = number;
    users.senders.clear();
    if (of_partner) users.senders.push_back(*partner);
  }
  return others;
}

std::optional<MessageMemory::Number> OwnMessages::add(MessageMemory::Number number,
                                                      Message::Direction direction) {
  if (single_.empty()) direction_ = direction;
  if (direction == direction_) {
    single_.push_back(number);
    return std::nullopt;
  }
  const auto other = single_.front();
  single_.pop_front();
  return other;
}

}  // namespace ringside
