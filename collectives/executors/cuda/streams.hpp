// SPDX-License-Identifier: MIT
/// The streams that a communicator's operations are put in, the events between them, and what is
/// known of their order.
#pragma once

#include <vector>

#include "ringside/collectives/executors/cuda/order.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"

namespace ringside::cuda {

/// Used by one thread at a time.
class Streams {
 public:
  /// By rank: its device.
  explicit Streams(std::vector<int> devices);

  [[nodiscard]] int ranks() const { return static_cast<int>(devices_.size()); }
  [[nodiscard]] int device_of(int rank) const { return devices_[static_cast<std::size_t>(rank)]; }

  /// The stream of a lane of a rank; made when it is first asked for.
  [[nodiscard]] cudaStream_t lane(int rank, int lane);
  /// All that were made.
  [[nodiscard]] std::vector<cudaStream_t> made() const;
  /// Of a rank.
  [[nodiscard]] std::vector<cudaStream_t> made(int rank) const;

  /// Numbers in `order`: of a rank's user's stream, and of a lane.
  [[nodiscard]] int number_of_user(int rank) const { return rank; }
  [[nodiscard]] int number_of(int rank, int lane) const { return ranks() * (1 + lane) + rank; }
  [[nodiscard]] int rank_of(int number) const { return number % ranks(); }

  /// An event of a rank's device that nobody uses in this call. A wait refers to what was recorded
  /// when it was made, so the next call may record it again.
  [[nodiscard]] cudaEvent_t event(int rank);
  void begin_call();

  StreamOrder order;

 private:
  struct Events {
    std::vector<Event> made;
    std::size_t used = 0;
  };

  std::vector<int> devices_;
  std::vector<std::vector<Stream>> lanes_;  // [lane][rank]
  std::vector<Events> events_;              // by device
};

/// Whether two streams, each given on a device, are one. The default stream's handles mean another
/// stream on every device; all others mean one stream everywhere.
[[nodiscard]] bool is_same_stream(cudaStream_t a, int device_of_a, cudaStream_t b, int device_of_b);

/// Makes devices the calling thread's, without calling the runtime for the one that is.
class CurrentDevice {
 public:
  /// Throws Error(device).
  void set(int device);
  CurrentDevice() = default;
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = -1, current_ = -1;
};

}  // namespace ringside::cuda
