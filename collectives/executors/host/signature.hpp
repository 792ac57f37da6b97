// SPDX-License-Identifier: MIT
/// What all ranks of a call must agree on.
#pragma once

#include <cstdint>
#include <string>

#include "ringside/collectives/call.hpp"

namespace ringside::host {

/// The exchange of a split is an all_gather that names this operator, which no caller's does: a
/// split does not agree with an all_gather.
inline constexpr ReduceOp split_mark = ReduceOp::max;

struct Signature {
  Collective collective = Collective::all_reduce;
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  Placement placement = Placement::out_of_place;
  std::size_t elements = 0;       ///< of all blocks together
  std::uint64_t blocks_hash = 0;  ///< of their single lengths
  double scalar = 1.0;            ///< premul_sum; 1 for other operators
  std::uint64_t plan_hash = 0;    ///< algorithm, chunks, slices, lanes
  bool in_stream = false;         ///< where ranks must agree on giving a stream (NCCL): they do
  bool summed = false;            ///< with checksums (the option `checksum`)
  const char* spec = "";          ///< for messages; lives as long as the communicator

  /// The signature of a call that runs the plans of this hash and spec.
  [[nodiscard]] static Signature of(const Call& call, int ranks, std::uint64_t plan_hash,
                                    const char* spec);
};

/// Equal for two ranks that made the same call (the spec's wording may differ), and otherwise
/// different but for one case in 2^62. Its lowest bits are the placement.
[[nodiscard]] std::uint64_t digest_of(const Signature& signature);
inline constexpr std::uint64_t placement_bits = 3;
[[nodiscard]] inline Placement placement_of(std::uint64_t digest) {
  return static_cast<Placement>(digest & placement_bits);
}

/// A signature with its digest.
struct SignedCall {
  Signature signature;
  std::uint64_t digest = 0;
};
[[nodiscard]] inline SignedCall signed_by(const Signature& signature) {
  return {signature, digest_of(signature)};
}
/// Of a barrier within a call with checksums.
[[nodiscard]] SignedCall barrier_within_call();

/// What differs, as "elements (100 and 128), operator (sum and max)".
[[nodiscard]] std::string differences(const Signature& a, const Signature& b);

/// "all_reduce of 100 float32, sum, in place, ring".
[[nodiscard]] std::string describe(const Signature& signature);

}  // namespace ringside::host
