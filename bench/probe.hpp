// SPDX-License-Identifier: MIT
/// What else happened while a block was timed: where the two cores are, and who else used them.
///
/// The virtual cores of a guest move between the cores of its host while jobs run, which changes
/// latencies fourfold and bandwidth twofold. The time that a cache line takes from one core to the
/// other tells the placements apart (measured on one EPYC: 20 to 28 ns for two threads of a core,
/// 53 to 62 ns within a third-level cache, 255 to 290 ns across), so every timed block has a probe
/// before and one after it: numbers of blocks whose probes agree may be compared.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "ringside/bench/report.hpp"

namespace ringside::bench {

/// Two threads that answer each other, each by a cache line of its own that only it writes. Between
/// probes they sleep.
class PingPong {
 public:
  /// On these two logical cores.
  PingPong(int core, int other_core);
  ~PingPong();
  PingPong(const PingPong&) = delete;
  PingPong& operator=(const PingPong&) = delete;

  /// One way, in nanoseconds: half of a round trip, the fastest of some batches of them. Takes
  /// about 0.2 ms.
  [[nodiscard]] double one_way_ns();

 private:
  class Table;
  std::unique_ptr<Table> table_;
};

/// Seconds of processor time since some start; zeros where the system does not tell.
struct CpuTimes {
  double busy = 0;  ///< of all cores, also what the host took from them; told in steps of 10 ms
  double own = 0;   ///< of this process
};

[[nodiscard]] CpuTimes read_cpu_times();
/// The part of it that is this process's.
[[nodiscard]] double process_cpu_seconds();

/// Watches rounds of blocks.
class RoundWatch {
 public:
  /// Without probes if there are not two cores. `active`: false watches nothing.
  explicit RoundWatch(bool active);

  void begin_round();
  /// After a block of the round: `peers_cpu_seconds` is the processor time that ranks outside this
  /// process took in it.
  void end_block(double peers_cpu_seconds);
  /// Each block of the round with its probes, in the order in which they ended.
  [[nodiscard]] std::vector<RoundFacts> end_round();

 private:
  [[nodiscard]] double probe();

  bool active_;
  std::optional<PingPong> ping_pong_;
  std::vector<RoundFacts> blocks_;
  double last_probe_ = 0;
  CpuTimes begin_;
  double peers_ = 0;
};

}  // namespace ringside::bench
