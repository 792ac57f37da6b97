// SPDX-License-Identifier: MIT
/// Which messages touch the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "ringside/collectives/calls.hpp"

namespace ringside {

/// The memory of messages, each of which has a number. A message conflicts with an earlier one if
/// one of them is received where the other lies. Takes O(log n) a message for buffers that do not
/// overlap, or are the same.
class MessageMemory {
 public:
  using Number = std::uint64_t;

  /// Adds a message. Those that it conflicts with, some of them maybe twice, but for `partner` (the
  /// other end of a message to oneself, which may lie where it is to go). An earlier one may be
  /// missing if it conflicts with one that is named, or that one with it, and so on.
  std::vector<Number> add(Number number, const Message& message, std::optional<Number> partner);

  /// Forgets messages for which `is_over(number)`. To be called every now and then, it does so when
  /// that is worth its time: in all no more than adding took.
  template <class IsOver>
  void tidy(IsOver&& is_over) {
    if (noted_ < tidy_at_) return;
    noted_ = 0;
    for (auto at = from_.begin(); at != from_.end();) {
      Users& users = at->second;
      if (users.receiver && is_over(*users.receiver)) users.receiver.reset();
      std::erase_if(users.senders, is_over);
      noted_ += 1 + users.senders.size();
      const bool needless = users.is_empty() && (at == from_.begin() || last_of(at).is_empty());
      at = needless ? from_.erase(at) : std::next(at);
    }
    tidy_at_ = 2 * noted_ + least_tidied;
  }

  void clear() {
    from_.clear();
    noted_ = 0;
  }

 private:
  static constexpr std::size_t least_tidied = 256;

  /// Of a piece of memory: the last message received there, and those sent from there since.
  struct Users {
    std::optional<Number> receiver;
    std::vector<Number> senders;
    [[nodiscard]] bool is_empty() const { return !receiver && senders.empty(); }
  };
  /// By the beginning of the piece, which ends where the next begins; there are none before the
  /// first, and none from the last on.
  using Pieces = std::map<std::uintptr_t, Users>;

  static const Users& last_of(Pieces::iterator at) { return std::prev(at)->second; }
  /// The piece that begins there.
  Pieces::iterator split(std::uintptr_t at);

  Pieces from_;
  std::size_t noted_ = 0;  // pieces and users, at most
  std::size_t tidy_at_ = least_tidied;
};

/// Pairs the two ends of each message to oneself on a communicator: the first send with the first
/// receive, and so on.
class OwnMessages {
 public:
  /// The other end, if it was added before.
  std::optional<MessageMemory::Number> add(MessageMemory::Number number,
                                           Message::Direction direction);
  /// Ends without another yet; all of them are of one direction.
  [[nodiscard]] bool all_paired() const { return single_.empty(); }
  [[nodiscard]] Message::Direction unpaired() const { return direction_; }

 private:
  std::deque<MessageMemory::Number> single_;
  Message::Direction direction_ = Message::Direction::send;
};

}  // namespace ringside
