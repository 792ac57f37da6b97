// SPDX-License-Identifier: MIT
/// What the benchmark and a peer (a program that times another library) say to each other: lines of
/// text on the peer's standard input and output.
///
///     peer:       ready LIBRARY
///     benchmark:  ask|run COLLECTIVE COUNT TYPE OP in|out ROOT BUFFERS SAMPLES CALLS LEAD_IN
///     peer:       to ask: yes, or no REASON
///                 to run: times RANKS SECONDS... SAMPLES SECONDS... cpu SECONDS, or error WHAT
///     benchmark:  quit
///
/// COUNT is the number of elements of a block (layout.hpp): of the whole message where there is one
/// block (all_reduce, broadcast, reduce), else of one rank's or one pair's piece. The times are
/// every rank's of the whole block of calls, then each sample's of one call on the slowest rank,
/// then the processor time that all ranks took.
///
/// While there is no command, the ranks of a peer sleep: they must not take cores from what is
/// measured in turn.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ringside/bench/subject.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside::bench {

/// A call to be timed, and how often. Plain data: peers hand it to their ranks as bytes.
struct PeerCommand {
  enum class Verb { ask, run, quit };
  Verb verb = Verb::run;
  Collective collective = Collective::all_reduce;
  int root = 0;
  std::uint64_t count = 0;  ///< elements of a block
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  Placement placement = Placement::in_place;
  Block block = {};

  /// The same call, however often.
  [[nodiscard]] bool same_call(const PeerCommand& other) const;
};

[[nodiscard]] std::string to_line(const PeerCommand& command);
/// Throws Error(bad_input) for a line that is none.
[[nodiscard]] PeerCommand parse_peer_command(std::string_view line);

[[nodiscard]] std::string to_line(const BlockTimes& times);
/// The times of a block of `ranks` and `samples`. Throws Error(failed) for anything else, with what
/// the peer says if it is an error.
[[nodiscard]] BlockTimes parse_times(const std::string& line, std::size_t ranks,
                                     std::size_t samples);

}  // namespace ringside::bench
