// SPDX-License-Identifier: MIT
/// What the ranks contribute to a checked call, and what must come out.
///
/// Two kinds, because they find different defects. *Exact* contributions are chosen so that the
/// result is exact in the type whatever the order of the operations; then any wrong element is
/// wrong by inequality, and the whole of a large message is checked at the speed of a comparison.
/// *Rounding* contributions use the whole mantissa, so that the result depends on the order of
/// the additions; they are compared with the reference interpreter bit for bit.
/// Where nothing is folded, any bits will do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ringside/collectives/reduction/types.hpp"

namespace ringside::bench {

/// The factor of a premultiplied sum in checked calls: exact in every type, and not 1.
inline constexpr double checked_scalar = 3.0;

/// The bits of one element, a value of the type: what `rank` contributes at `index`.
///
/// sum, avg, premul_sum: floats get whole numbers from 0 up whose sum over all ranks fits the
/// mantissa (with many ranks and few bits only some of them contribute to an element); integers,
/// which wrap, any bits. prod: floats +-1 and +-2 or +-1/2, few enough of the latter to stay in
/// range; integers odd numbers. min and max: any number but a NaN or a zero.
[[nodiscard]] std::uint64_t exact_element(ElementType type, ReduceOp op, int ranks,
                                          std::uint64_t seed, int rank, std::uint64_t index);

/// Contributions that are exact, and their result. They repeat with a prime period, so that data in
/// the wrong place are noticed (chunks lie a multiple of it apart in contrived messages only).
class ExactInputs {
 public:
  static constexpr std::size_t period = 8191;

  ExactInputs(ElementType type, ReduceOp op, int ranks, std::uint64_t seed);

  /// Writes what `rank` contributes.
  void fill(int rank, std::byte* to, std::size_t elements) const;
  /// How many elements of a rank's output are not the result, from element `first` of the message.
  [[nodiscard]] std::uint64_t wrong(const std::byte* output, std::size_t elements,
                                    std::size_t first = 0) const;
  /// How many elements of a rank's input are no longer what `fill` wrote.
  [[nodiscard]] std::uint64_t changed(int rank, const std::byte* input, std::size_t elements) const;

 private:
  [[nodiscard]] std::vector<std::byte> row(int rank, std::size_t first, std::size_t elements) const;

  ElementType type_;
  ReduceOp op_;
  int ranks_;
  std::uint64_t seed_;
  std::vector<std::byte> result_;  // one period
};

/// The bits of the number 1.
[[nodiscard]] std::uint64_t bits_of_one(ElementType type);

/// Contributions that are only copied: any bits, other ones in every block, repeating with the
/// period of ExactInputs.
void fill_block(ElementType type, std::uint64_t seed, int block, std::byte* to,
                std::size_t elements);
/// How many elements are not what `fill_block` writes.
[[nodiscard]] std::uint64_t wrong_in_block(ElementType type, std::uint64_t seed, int block,
                                           const std::byte* data, std::size_t elements);

/// Writes contributions whose result depends on the order of the operations: floats of full
/// mantissa and both signs within some powers of two (close to 1 for prod, which must stay in
/// range); integers of any bits.
void fill_rounding(ElementType type, ReduceOp op, std::uint64_t seed, int rank, std::byte* to,
                   std::size_t elements);

/// How many of `elements` elements of `bytes` bytes each differ.
[[nodiscard]] std::uint64_t count_different(const std::byte* a, const std::byte* b,
                                            std::size_t elements, std::size_t bytes);

}  // namespace ringside::bench
