// SPDX-License-Identifier: MIT
/// A plan as a story: what every rank holds at first, then step by step which chunk moves where,
/// how long that takes, and what every rank holds after it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/plan.hpp"
#include "ringside/collectives/plan_steps.hpp"
#include "ringside/topology/model/machine.hpp"

namespace ringside::report {

/// More is no picture.
inline constexpr int most_story_ranks = 16;
inline constexpr std::size_t most_story_cells = 512;  ///< chunks of all ranks
inline constexpr std::size_t most_story_moves = 2000;

struct Move {
  int from = 0, to = 0;      ///< ranks
  int chunk = 0, count = 1;  ///< the first chunk, and how many
  /// An op that reads a peer and stores to a peer is two hops, one after the other.
  int hop = 0;
  Held held = {};  ///< what is moved, of its first chunk
};

/// A rank's chunk, or one in its scratch.
struct StoryCell {
  int chunk = 0;
  bool scratch = false;
  Held held = {};
};

struct StoryStep {
  std::string label = {};               ///< "step 3", "steps 1-2"
  std::vector<std::string> words = {};  ///< its ops in short
  std::vector<Move> moves = {};
  int hops = 1;
  /// How long it takes, in times that the whole message takes through one port: by the busiest
  /// rank's port; on a machine, by the busiest of its links and memories. Without latencies.
  double duration = 0;
  std::vector<double> hop_durations = {};          ///< what that is the sum of
  std::vector<std::vector<StoryCell>> after = {};  ///< by rank
};

struct Story {
  std::string spec = {}, call = {};
  int ranks = 1, chunks = 1;
  std::string machine = {};  ///< its name; empty: ranks alone
  double unit_seconds = 0;   ///< on a machine: of the whole message from one GPU to another
  double bytes = 0;          ///< on a machine: of that message
  std::vector<std::vector<StoryCell>> start = {};
  std::vector<StoryStep> steps = {};
  std::optional<std::string> fault = {};         ///< why the plan must not go on
  std::vector<double> received = {}, sent = {};  ///< by rank, in whole messages

  [[nodiscard]] double duration() const;
};

/// Throws Error(unsupported), saying what the limit is, for plans of more than can be shown.
/// Requires a well-formed plan. With `machine` rank i is on its GPU i; there `bytes` count, of the
/// whole message.
[[nodiscard]] Story story_of(const Plan& plan, const Machine* machine = nullptr, double bytes = 0);

}  // namespace ringside::report
