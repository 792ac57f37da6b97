// SPDX-License-Identifier: MIT
/// The messages of a rank on one communicator that are not over: which of them may begin.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ringside/collectives/handle_state.hpp"
#include "ringside/collectives/message_memory.hpp"

namespace ringside {

/// A message waits until those before it that touch the same memory are over, and until those
/// before it of the same peer and direction have begun. So the earliest one that is not over never
/// waits, and whatever else waits holds up nothing but what it must.
class MessageSchedule {
 public:
  using State = std::shared_ptr<Handle::State>;
  using Number = MessageMemory::Number;
  struct Numbered {
    Number number;
    State call;
  };

  explicit MessageSchedule(int rank) : rank_(rank) {}

  /// A call that is a message, later than all before.
  void add(State call);

  [[nodiscard]] bool is_empty() const { return waiting_or_begun_.empty(); }
  /// Whether one may begin.
  [[nodiscard]] bool has_ready() const { return !ready_.empty(); }
  /// The next that may begin; it has begun.
  [[nodiscard]] Numbered begin_ready();
  /// One that has begun is over.
  void end(Number number);

 private:
  struct Entry {
    State call;
    std::size_t waits_for = 0;  // others, by `followers` and `next_of_pair`
    bool begun = false;
    std::vector<Number> followers;  // begin when this one is over
    std::optional<Number> next_of_pair;
  };
  using Pair = std::pair<int, Message::Direction>;

  void release(Number number);

  int rank_;
  Number next_ = 0;
  std::unordered_map<Number, Entry> waiting_or_begun_;
  std::deque<Number> ready_;
  std::map<Pair, Number> last_of_pair_;
  MessageMemory memory_;
  OwnMessages own_;
};

}  // namespace ringside
