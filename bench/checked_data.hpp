// SPDX-License-Identifier: MIT
/// The contributions of all ranks to a checked call of any collective, and what must come out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ringside/bench/inputs.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside::bench {

/// Where contributions are folded they are those of ExactInputs. Where they are only copied, every
/// block of the request has any bits of its own: then a block, or a piece of one, in the wrong
/// place is wrong.
class CheckedData {
 public:
  CheckedData(const Request& request, ElementType type, ReduceOp op, std::uint64_t seed);

  /// Writes a rank's whole input, of blocks of `count` elements.
  void fill(int rank, std::byte* input, std::size_t count) const;
  /// How many elements of a rank's whole output are not the result.
  [[nodiscard]] std::uint64_t wrong(int rank, const std::byte* output, std::size_t count) const;
  /// How many elements of a rank's whole input are no longer what `fill` wrote.
  [[nodiscard]] std::uint64_t changed(int rank, const std::byte* input, std::size_t count) const;

 private:
  Request request_;
  ElementType type_;
  std::uint64_t seed_;
  std::optional<ExactInputs> folded_;
};

}  // namespace ringside::bench
