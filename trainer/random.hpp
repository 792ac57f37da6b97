// SPDX-License-Identifier: MIT
/// Random numbers that are the same everywhere for a seed: the standard library's distributions are
/// not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringside::trainer {

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class Random {
 public:
  /// Different streams of a seed have nothing to do with each other.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);

  [[nodiscard]] std::uint64_t next();
  /// 0 to bound - 1, all equally likely.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  /// In [0, 1).
  [[nodiscard]] double uniform();
  /// Around 0, of spread 1.
  [[nodiscard]] double normal();

 private:
  std::uint64_t state_;
};

}  // namespace ringside::trainer
