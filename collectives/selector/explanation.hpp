// SPDX-License-Identifier: MIT
/// What a plan does on a machine and why it takes so long, as facts. explain.hpp has them in words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ringside/collectives/request.hpp"
#include "ringside/collectives/selector/request_bounds.hpp"
#include "ringside/topology/model/machine.hpp"

namespace ringside {

/// What is explained: a call.
struct ExplainedCall {
  Request request;
  std::uint64_t bytes = 0;  ///< of all blocks together; the blocks are equal
  std::size_t element_bytes = 4;
  std::vector<int> gpus;  ///< of each rank, index in Topology::gpus(); empty: rank i on GPU i
};

/// Data that go through a link, from one rank to another, or between a rank and the memory of its
/// host.
struct Crossing {
  static constexpr int host_memory = -1;
  int from = 0, to = 0;
  double bytes = 0;

  bool operator==(const Crossing&) const = default;
};

/// One direction of a link.
struct LinkDirection {
  double bytes = 0;    ///< that go through it
  double seconds = 0;  ///< that they take alone, at what the machine gets out of the link
  std::vector<Crossing> crossings;
};

/// A link with traffic.
struct LinkTraffic {
  std::string near, far;  ///< its ends; `near` is the GPU where one end is
  bool of_gpu = false;    ///< a GPU's own link
  bool shared = false;    ///< both ends are bridges, switches, memories
  LinkDirection out;      ///< from `near` to `far`
  LinkDirection in;
};

/// A part of the simulated time.
struct TimePart {
  std::string what;  ///< "moving data", "issuing ops", "latency"
  double seconds = 0;
};

/// A resource that was full while data moved.
struct FullResource {
  std::string name;
  double seconds = 0;
};

struct Explanation {
  std::string spec;    ///< canonical
  double seconds = 0;  ///< simulated
  /// Of a small message: from and to, for what latencies are not known better.
  std::optional<std::pair<double, double>> range;
  std::uint64_t ops = 0;
  int slices = 1;
  /// On the longest chain of data from rank to rank; nothing where counting takes too long.
  std::optional<int> steps;
  bool lowered = false;            ///< copies were added, as GPUs do not reach each other
  std::string remark;              ///< of its order, see off_fabric_remark(); may be empty
  std::vector<LinkTraffic> links;  ///< those that take longest first
  std::vector<TimePart> parts;     ///< of the critical path, longest first
  std::vector<FullResource> full;  ///< longest first
};

/// Simulates a spec's plan and counts what goes where. Throws as simulate() does.
[[nodiscard]] Explanation explain_plan(const Machine& machine, const ExplainedCall& call,
                                       const std::string& spec);

/// Another plan for the same call, and what is to be said of it.
struct Alternative {
  std::string spec;
  std::optional<double> seconds;  ///< simulated
  std::string why;                ///< one line; may be empty
};

/// All that is told of a call.
struct CallExplanation {
  std::string machine;               ///< its name
  std::vector<std::string> assumed;  ///< what its figures rest on that no input tells
  ExplainedCall call;
  std::vector<std::string> gpu_names;  ///< of each rank
  std::vector<Explanation> plans;      ///< the one that was asked for, then those compared with it
  RequestBounds bounds;
  std::string bound_caveat;    ///< what is to be said of them, see bound_caveat(); may be empty
  std::string chosen_because;  ///< of the first, where it was chosen for the caller; may be empty
  std::vector<Alternative> alternatives;  ///< the best of other algorithms
  std::string nccl;                       ///< what NCCL would pick; may be empty
};

/// Everything but the choice: plans, bounds, what NCCL would pick (where it has the choice and all
/// GPUs take part).
[[nodiscard]] CallExplanation explain_call(const Machine& machine, std::string machine_name,
                                           const ExplainedCall& call,
                                           std::span<const std::string> specs);

}  // namespace ringside
