// SPDX-License-Identifier: MIT
/// The twin: runs the very same plans as the other executors on a machine model, in virtual time.
///
/// An op becomes one flow over all that it takes: its sources' memories and the links from them,
/// its destinations' and the links to them, at one rate, as a kernel that streams moves them. A
/// stream (a lane of a rank) runs its ops one after another, slice after slice, and an op waits for
/// those that it conflicts with: the order that every executor keeps (dependencies.hpp), derived
/// here while the ops are pulled, so that a plan need not be stored. All times are simulated.
///
/// In seconds, from when an op is ready: the overhead of issuing it, the latency of its farthest
/// source and its farthest destination, then its transfer. It is ready when the op before it in its
/// stream has ended, and `Overheads::wait` after those of other streams that it waits for have. An
/// op without bytes (fewer elements than chunks and slices) orders others and takes nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/plan.hpp"
#include "ringside/topology/model/machine.hpp"

namespace ringside {

/// The call that is simulated.
struct SimulatedCall {
  std::vector<std::size_t> block_elements = {};  ///< of each block of the request
  std::size_t element_bytes = 4;
  std::vector<int> gpus = {};  ///< of each rank, index in Topology::gpus(); empty: rank i on GPU i
};

struct SimulationWanted {
  bool resources = false;      ///< usage by resource
  bool critical_path = false;  ///< what the time was spent on
  bool timeline = false;       ///< every op
  std::optional<double> give_up_after =
      {};  ///< seconds (simulated): stop there, the call takes longer
};

/// A piece of the critical path, from the call's start to its end without gaps.
struct CriticalPiece {
  enum class Kind { call, overhead, latency, transfer };
  Kind kind = Kind::transfer;
  double begin = 0, end = 0;
  int rank = 0;                          ///< that executes the op
  std::optional<std::uint64_t> op = {};  ///< listed index
  int slice = 0;
  std::optional<ResourceId> limit = {};  ///< transfer: what limited it for the longest part
};

/// An op of a slice, for timelines.
struct SimulatedOp {
  std::uint64_t op = 0;  ///< listed index
  int slice = 0, rank = 0, lane = 0;
  double ready = 0;  ///< when what it waits for had ended
  double begin = 0;  ///< of the transfer
  double end = 0;
  double bytes = 0;       ///< of its run of chunks, once
  std::string what = {};  ///< "copy 0 -> 1", "fold 1,2 -> 1"
};

struct Simulation {
  double seconds = 0;
  bool gave_up = false;  ///< `seconds` is then only a lower limit
  std::uint64_t ops = 0;
  std::vector<ResourceUsage> resources;  ///< as Machine::resources()
  std::vector<CriticalPiece> critical_path;
  std::vector<SimulatedOp> timeline;
};

/// Simulates a spec's plan. What the machine cannot reach directly is lowered first (lower.hpp), as
/// for every executor. Throws as make_algorithm does; Error(invalid_argument) where call and
/// request do not fit each other or the machine.
[[nodiscard]] Simulation simulate(const Machine& machine, const Spec& spec, const Request& request,
                                  const SimulatedCall& call, const SimulationWanted& wanted = {});
/// A stored plan, which must be lowered already.
[[nodiscard]] Simulation simulate(const Machine& machine, const Plan& plan,
                                  const SimulatedCall& call, const SimulationWanted& wanted = {});

}  // namespace ringside
