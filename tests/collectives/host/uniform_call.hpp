// SPDX-License-Identifier: MIT
/// A call on int32 whose every input is one number all over, so that a rank can tell at a glance
/// whether its output is right, also when other ranks fail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/layout.hpp"

namespace ringside::tests {

struct UniformCall {
  Collective collective = Collective::all_reduce;
  std::size_t block = 0;  ///< elements
  int root = 0;
  std::string algorithm = {};
  std::uint64_t key = 0;  ///< decides the numbers

  [[nodiscard]] std::int32_t input_of(int rank) const {
    return static_cast<std::int32_t>((key * 31 + static_cast<std::uint64_t>(rank) * 7) % 1009 + 1);
  }
};

/// One rank's buffers for it, out of place and no longer than needed. Freed with this object.
class UniformBuffers {
 public:
  UniformBuffers(const UniformCall& call, int rank, int ranks)
      : call_(call),
        rank_(rank),
        ranks_(ranks),
        output_held_(blocks_in(request(), rank, Buffer::output)),
        input_length_(length(blocks_in(request(), rank, Buffer::input))),
        output_length_(length(output_held_)),
        input_(new std::int32_t[input_length_]),
        output_(new std::int32_t[output_length_]) {
    std::fill_n(input_.get(), input_length_, call.input_of(rank));
    std::fill_n(output_.get(), output_length_, nothing_yet);
  }

  [[nodiscard]] Arguments arguments() {
    return {.collective = call_.collective,
            .input = input_.get(),
            .output = output_.get(),
            .blocks = {&call_.block, call_.collective == Collective::barrier ? 0u : 1u},
            .type = ElementType::int32,
            .op = ReduceOp::sum,
            .root = call_.root};
  }

  [[nodiscard]] std::size_t input_bytes() const { return input_length_ * sizeof(std::int32_t); }
  [[nodiscard]] std::size_t output_bytes() const { return output_length_ * sizeof(std::int32_t); }

  /// Whether the output is what a call that has returned must have left.
  [[nodiscard]] bool right() const {
    const std::int32_t* at = output_.get();
    for (int i = 0; i < output_held_.count; ++i, at += call_.block)
      if (!all(at, call_.block, output(output_held_.first + i * output_held_.stride))) return false;
    return true;
  }

  /// Whether nobody has written to either buffer.
  [[nodiscard]] bool untouched() const {
    return all(input_.get(), input_length_, call_.input_of(rank_)) &&
           all(output_.get(), output_length_, nothing_yet);
  }

  /// Writes a number to all of both buffers.
  void overwrite(std::int32_t number) {
    std::fill_n(input_.get(), input_length_, number);
    std::fill_n(output_.get(), output_length_, number);
  }
  [[nodiscard]] bool still(std::int32_t number) const {
    return all(input_.get(), input_length_, number) && all(output_.get(), output_length_, number);
  }

 private:
  static constexpr std::int32_t nothing_yet = -1;
  [[nodiscard]] Request request() const { return {call_.collective, ranks_, call_.root, false}; }
  [[nodiscard]] std::size_t length(const BlockRange& held) const {
    return static_cast<std::size_t>(held.count) * call_.block;
  }
  static bool all(const std::int32_t* begin, std::size_t count, std::int32_t number) {
    return std::all_of(begin, begin + count, [&](std::int32_t value) { return value == number; });
  }
  [[nodiscard]] std::int32_t output(int block) const {
    if (const auto sole = sole_contributor(request(), block)) return call_.input_of(*sole);
    std::int32_t sum = 0;
    for (int rank = 0; rank < ranks_; ++rank) sum += call_.input_of(rank);
    return sum;
  }

  UniformCall call_;
  int rank_, ranks_;
  BlockRange output_held_;
  std::size_t input_length_, output_length_;
  std::unique_ptr<std::int32_t[]> input_, output_;
};

}  // namespace ringside::tests
