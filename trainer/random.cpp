// SPDX-License-Identifier: MIT
#include "ringside/trainer/random.hpp"

#include <cmath>
#include <numbers>

namespace ringside::trainer {
namespace {

/// The golden ratio in 64 bits, SplitMix64's step.
constexpr std::uint64_t step = 0x9e3779b97f4a7c15ULL;

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t stream)
    : state_(mix(mix(seed + step) + stream * step)) {}

std::uint64_t Random::next() { return mix(state_ += step); }

std::uint64_t Random::below(std::uint64_t bound) {
  // Numbers from the last, incomplete, multiple of the bound on would favour small results.
  const std::uint64_t rest = (0 - bound) % bound;
  for (;;)
    if (const std::uint64_t number = next(); number >= rest) return number % bound;
}

double Random::uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

double Random::normal() {
  // Box and Muller; 1 - uniform() is never 0.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace ringside::trainer
