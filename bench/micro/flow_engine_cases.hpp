// SPDX-License-Identifier: MIT
/// What micro_flow_engine runs, on a star: hosts around a switch, an uplink and a downlink each.
#pragma once

#include <cstdint>

namespace ringside::micro {

struct StarCase {
  enum class Kind {
    ring,        ///< an all_reduce: 2 (n - 1) steps to the next host, each when the one before has
                 ///< arrived
    all_to_all,  ///< everyone to everyone at once, bytes at random
  };
  Kind kind = Kind::ring;
  int hosts = 0;

  static constexpr double capacity = 25e9;           ///< bytes per second
  static constexpr double latency = 2e-6;            ///< seconds, of uplink and downlink together
  static constexpr std::uint64_t block = 1'000'000;  ///< bytes, of a step of the ring

  [[nodiscard]] int steps() const { return 2 * (hosts - 1); }
  /// What `from` sends to `to`.
  [[nodiscard]] static std::uint64_t bytes(int from, int to) {
    std::uint64_t mixed = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(to);
    mixed = (mixed ^ mixed >> 31) * 0x7fb5d329728ea185;  // as in splitmix64
    mixed = (mixed ^ mixed >> 27) * 0x81dadef4bc2dd44d;
    return block + (mixed ^ mixed >> 33) % (9 * block);
  }
};

/// The simulated time. SimGrid: at most once in a process.
[[nodiscard]] double run_in_engine(const StarCase& wanted);
[[nodiscard]] double run_in_simgrid(const StarCase& wanted);

}  // namespace ringside::micro
