// SPDX-License-Identifier: MIT
/// What is known of the order of operations in several streams: vector clocks.
///
/// A stream runs its operations in order, and behind those that it waits for. So for every stream
/// there is a clock that says how far each other stream must have come before its next operation.
/// With it a wait that others imply is not made: each one costs a call of the runtime.
#pragma once

#include <cstdint>
#include <vector>

namespace ringside::cuda {

/// An operation: the one at this position (from 1) of a stream.
struct Point {
  int stream = 0;
  std::uint64_t position = 0;
};

/// By stream: how many of its operations come before.
using Clock = std::vector<std::uint64_t>;

/// A point and all that comes before it.
struct Moment {
  Point point;
  Clock clock;

  [[nodiscard]] bool is_behind(const Point& other) const {
    const auto stream = static_cast<std::size_t>(other.stream);
    return stream < clock.size() && clock[stream] >= other.position;
  }
};

class StreamOrder {
 public:
  /// A new operation at the end of a stream.
  Moment append(int stream);
  /// The stream's next operation comes behind the moment.
  void wait(int stream, const Moment& moment);
  /// Whether the stream's next operation comes behind the point.
  [[nodiscard]] bool is_behind(int stream, const Point& point) const;
  /// The latest operation of a stream and what is before it.
  [[nodiscard]] Moment latest(int stream) const;
  /// Another stream takes the number of this one: it knows nothing.
  void replace(int stream);

 private:
  Clock& clock_of(int stream);

  std::vector<Clock> clocks_;             // by stream
  std::vector<std::uint64_t> positions_;  // by stream
};

/// Of the moments those that a stream has to wait for, so that its next operation comes behind the
/// points of all of them: none can be left out. A moment's clock may be that of a later one than
/// its point. A subset of `moments`.
[[nodiscard]] std::vector<const Moment*> needed_waits(const StreamOrder& order, int stream,
                                                      const std::vector<const Moment*>& moments);

}  // namespace ringside::cuda
