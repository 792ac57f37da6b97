// SPDX-License-Identifier: MIT
/// What a benchmark is asked to measure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/bench/gpus.hpp"
#include "ringside/bench/operation.hpp"
#include "ringside/bench/sizes.hpp"
#include "ringside/collectives/reduction/types.hpp"

namespace ringside::bench {

enum class Placement : int { out_of_place, in_place };

inline constexpr std::array placements = {Placement::out_of_place, Placement::in_place};

/// "out of place", "in place".
[[nodiscard]] constexpr std::string_view to_string(Placement placement) {
  return placement == Placement::in_place ? "in place" : "out of place";
}

/// What a timed call finds of its data.
enum class Buffers : int {
  warm,       ///< the same buffers in every call: what fits a cache is found there
  cold,       ///< other buffers in every call, so many that they leave the last cache between two
              ///< uses
  rewritten,  ///< every rank writes its input before each call, and then the ranks meet; both
              ///< untimed. What a trainer does: the data have just been computed.
};

inline constexpr std::array all_buffers = {Buffers::warm, Buffers::cold, Buffers::rewritten};

/// "warm", "cold", "rewritten".
[[nodiscard]] constexpr std::string_view to_string(Buffers buffers) {
  return buffers == Buffers::warm ? "warm" : buffers == Buffers::cold ? "cold" : "rewritten";
}

struct BenchRequest {
  BackendKind backend = BackendKind::host;
  GpuRequest gpus = {};  ///< of the backends that run on some
  std::vector<Operation> collectives = {Collective::all_reduce};
  /// Spec strings; empty: every registered algorithm that supports the request.
  std::vector<std::string> algorithms = {};
  std::vector<int> ranks = {2};
  int root = 0;  ///< of the collectives that have one
  SizeRange sizes = {};
  bool exact_counts = false;  ///< blocks are not rounded down to 16 bytes (volume.hpp)
  std::vector<ElementType> types = {ElementType::float32};
  std::vector<ReduceOp> ops = {ReduceOp::sum};
  std::array<bool, placements.size()> measured = {true, true};  ///< by Placement

  /// Calls in all of one algorithm, size and placement, or nothing: as many as fit `time`, and on a
  /// machine that slows down no longer than some times `time` (measure.hpp).
  std::optional<std::int64_t> iterations = std::nullopt;
  Seconds time{0.05};
  Buffers buffers = Buffers::warm;
  /// Bytes that a rank's cold buffers move through; nothing: see `cold_pool` (stage.hpp).
  std::optional<std::uint64_t> cold_bytes = std::nullopt;
  int warmup = 1;  ///< untimed calls before the first round
  int rounds = 5;  ///< blocks of calls that the time or the calls are spread over
  /// One round of everything, then the next: to be compared with another run (passes.hpp).
  bool spread = false;
  bool check = true;
  bool watch = true;  ///< note in every round where the cores are and who else uses them
  /// Rank r on core r mod cores, ours and the peers' alike: the system may otherwise leave two
  /// ranks on one core.
  bool pin = true;
  std::optional<Seconds> timeout = std::nullopt;  ///< of one wait; else the option `timeout`

  /// Buffers are memory that the ranks' processes share (Communicator::shared_memory).
  bool shared_memory = false;

  std::vector<std::string> compare = {};  ///< competitors (competitors.hpp), in the same rounds
  bool compare_what_is_here = false;      ///< one that is not installed is left out, no error
  std::string peer_folder = {};  ///< of the peers' programs; empty: look for it beside this program

  /// Subjects that take turns on every collective; 0: as many as there are algorithms.
  [[nodiscard]] std::size_t series_at_once() const {
    if (backend == BackendKind::nccl || backend == BackendKind::openmpi) return 1;
    const std::size_t ways = runs_on_gpus(backend) ? gpus.issue.size() * gpus.copies.size() : 1;
    return algorithms.empty() ? 0 : algorithms.size() * ways + compare.size();
  }
};

/// The rounds that are run: with fewer calls than rounds, one a call.
[[nodiscard]] constexpr int rounds_of(const BenchRequest& request) {
  if (!request.iterations || *request.iterations >= request.rounds) return request.rounds;
  return *request.iterations < 1 ? 1 : static_cast<int>(*request.iterations);
}

}  // namespace ringside::bench
