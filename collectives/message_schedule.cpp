// SPDX-License-Identifier: MIT
#include "ringside/collectives/message_schedule.hpp"

namespace ringside {

void MessageSchedule::add(State call) {
  const Message& message = *call->message();
  const Number number = next_++;
  Entry& entry = waiting_or_begun_[number];
  entry.call = std::move(call);

  const auto partner =
      message.peer == rank_ ? own_.add(number, message.direction) : std::optional<Number>();
  for (const Number other : memory_.add(number, message, partner))
    if (const auto before = waiting_or_begun_.find(other); before != waiting_or_begun_.end()) {
      before->second.followers.push_back(number);
      ++entry.waits_for;
    }

  const auto [last, is_first] =
      last_of_pair_.try_emplace({message.peer, message.direction}, number);
  if (!is_first) {
    const auto before = waiting_or_begun_.find(std::exchange(last->second, number));
    if (before != waiting_or_begun_.end() && !before->second.begun) {
      before->second.next_of_pair = number;
      ++entry.waits_for;
    }
  }
  if (entry.waits_for == 0) ready_.push_back(number);
}

MessageSchedule::Numbered MessageSchedule::begin_ready() {
  const Number number = ready_.front();
  ready_.pop_front();
  Entry& entry = waiting_or_begun_.at(number);
  entry.begun = true;
  if (entry.next_of_pair) release(*entry.next_of_pair);
  return {number, entry.call};
}

void MessageSchedule::end(Number number) {
  const auto over = waiting_or_begun_.extract(number);
  for (const Number follower : over.mapped().followers) release(follower);
  if (!is_empty())
    return memory_.tidy([this](Number other) { return !waiting_or_begun_.contains(other); });
  memory_.clear();
  last_of_pair_.clear();
}

void MessageSchedule::release(Number number) {
  if (--waiting_or_begun_.at(number).waits_for == 0) ready_.push_back(number);
}

}  // namespace ringside
