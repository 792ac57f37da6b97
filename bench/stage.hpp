// SPDX-License-Identifier: MIT
/// What the algorithms of one collective at one number of ranks take turns on: a team, its buffers
/// and the contributions of checked calls.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "ringside/bench/buffers.hpp"
#include "ringside/bench/checked_data.hpp"
#include "ringside/bench/request.hpp"
#include "ringside/bench/team.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside::bench {

/// A rank's part of a call, in elements.
struct CallShape {
  std::size_t input = 0, output = 0;        ///< lengths
  std::size_t input_at = 0, output_at = 0;  ///< in place: where both lie in one memory, else 0
  bool shared = false;                      ///< in place, and the rank holds data in both

  /// Of the memory that holds the output, and in place the input too.
  [[nodiscard]] std::size_t memory(bool in_place) const {
    if (!in_place) return output;
    return input_at + input > output_at + output ? input_at + input : output_at + output;
  }
};

/// For blocks of `count` elements.
[[nodiscard]] CallShape call_shape(const Request& request, int rank, std::size_t count);

class Stage {
 public:
  struct Memory {
    std::byte* input;
    std::byte* output;
  };

  /// For calls of `what` (its placement is ignored) of up to `bytes` bytes (volume.hpp). Throws
  /// Error(io) without memory.
  Stage(const Request& what, std::size_t bytes, const BenchRequest& request);

  /// Bytes of all ranks' buffers of such a stage.
  [[nodiscard]] static std::uint64_t bytes_needed(const Request& what, std::size_t bytes,
                                                  const BenchRequest& request);

  [[nodiscard]] Team& team() { return team_; }
  [[nodiscard]] Request request(Placement placement) const;
  [[nodiscard]] std::optional<Seconds> timeout() const { return timeout_; }

  /// Where a rank's data lie in a call of the shape. Of cold buffers there are many, and `turn`
  /// says which.
  [[nodiscard]] Memory memory(int rank, Placement placement, const CallShape& shape,
                              std::size_t element_bytes, std::uint64_t turn = 0);
  /// Calls so far with cold buffers: the next one's turn. A rank counts its own.
  [[nodiscard]] std::uint64_t& turns(int rank) {
    return turns_[static_cast<std::size_t>(rank)].number;
  }

  /// Writes ones where calls of blocks of `count` elements find their data: numbers that no
  /// repetition in place turns into slow ones (subnormals).
  void fill_with_ones(ElementType type, std::uint64_t count);

  /// Contributions, other ones at every second call, so that what a call left behind cannot pass
  /// for the result of the next.
  [[nodiscard]] const CheckedData& checked_data(ElementType type, ReduceOp op);

 private:
  struct alignas(64) Turns {  // a cache line each: ranks count in their calls
    std::uint64_t number = 0;
  };

  Team team_;
  Request what_;
  std::size_t pool_;  // bytes that cold buffers move through; 0: they stay
  std::vector<PageBuffer> inputs_, outputs_;
  std::vector<Turns> turns_;
  std::optional<ElementType> pool_type_;  // that the whole pool was filled with
  std::optional<Seconds> timeout_;
  std::map<std::tuple<ElementType, ReduceOp, bool>, CheckedData> checked_data_;
  bool odd_check_ = false;
};

/// The bytes a rank's cold buffers move through: with those of all ranks twice what the last caches
/// hold. More ranks than cores share them.
[[nodiscard]] std::size_t cold_pool(int ranks, int cores, std::uint64_t last_cache);

}  // namespace ringside::bench
