// SPDX-License-Identifier: MIT
/// The ops of a plan in the order in which its streams are filled: all of slice 0 as listed, then
/// all of slice 1, and so on. They are pulled from the algorithm, slice by slice anew, so that no
/// plan need be stored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/plan.hpp"
#include "ringside/collectives/spec.hpp"

namespace ringside::simulated {

class OpSource {
 public:
  /// Throws as PlanStream does.
  OpSource(const Spec& spec, const Request& request);
  /// Of a stored plan, which must outlive it.
  explicit OpSource(const Plan& plan);

  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] int chunks() const { return block_count(request_) * shape_.chunks_per_block; }
  /// Streams are numbered rank x lanes + lane.
  [[nodiscard]] std::size_t streams() const {
    return static_cast<std::size_t>(request_.ranks) * static_cast<std::size_t>(shape_.lanes);
  }
  [[nodiscard]] std::size_t stream_of(const Op& op) const {
    return static_cast<std::size_t>(op.rank) * static_cast<std::size_t>(shape_.lanes) +
           static_cast<std::size_t>(op.lane);
  }

  /// The next op, or null after the last of the last slice. Valid until the next call.
  const Op* next();
  /// Of the op that next() gave.
  [[nodiscard]] int slice() const { return slice_; }
  [[nodiscard]] std::uint64_t index() const { return next_index_ - 1; }

  /// The scratch slots of a rank that are known so far: all that the ops given so far name.
  [[nodiscard]] std::span<const ScratchSlot> slots(int rank) const;

  /// How many ops of one slice each stream has; goes through a slice of its own.
  [[nodiscard]] std::vector<std::uint64_t> ops_of_streams() const;

 private:
  const Op* next_of_slice();
  void begin_slice();

  Request request_;
  Shape shape_;
  Spec spec_;
  std::optional<PlanStream> stream_;
  const Plan* plan_ = nullptr;
  Op op_;
  int slice_ = 0;
  std::uint64_t next_index_ = 0;
};

}  // namespace ringside::simulated
