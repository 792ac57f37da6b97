// SPDX-License-Identifier: MIT
/// How long a plan takes on a machine at least: what the twin cannot be below, without simulating.
///
/// Two things take time whatever happens. Ops that wait for each other take their overheads,
/// latencies and transfers one after another, each transfer as fast as its way is alone. And what
/// goes through a resource takes its bytes over its capacity, after the ops before the first on it
/// and before the ops behind the last. Both ignore only that flows share, which lengthens them; so
/// the greater of the two is a lower limit of the simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ringside/collectives/plan.hpp"
#include "ringside/topology/model/machine.hpp"

namespace ringside {

struct LowerLimit {
  double seconds = 0;
  /// What has so much to carry; nothing: ops one after another.
  std::optional<ResourceId> resource;
};

/// A call's data: blocks that are equally long.
struct CallSize {
  std::size_t block_elements = 0;
  std::size_t element_bytes = 4;
};

/// A plan's ops as what they take of a machine: made once, asked for many sizes and slices.
class MappedPlan {
 public:
  /// `plan`: lowered for the machine; its slices do not matter. `gpus`: of each rank. The plan is
  /// not needed afterwards, the machine is.
  MappedPlan(const Machine& machine, std::span<const int> gpus, const Plan& plan);

  [[nodiscard]] std::size_t ops() const { return ops_.size(); }
  [[nodiscard]] int chunks_per_block() const { return chunks_per_block_; }

  /// Holds for any number of slices. Takes time by the number of resources.
  [[nodiscard]] LowerLimit for_any_slices(const CallSize& size) const;
  /// What issuing so many slices takes, were there no bytes to move.
  [[nodiscard]] double without_bytes(int slices, int depth) const;
  /// Whether the ops are the same, in the same order and in the same streams.
  bool operator==(const MappedPlan& other) const;
  [[nodiscard]] std::uint64_t hash() const;

  /// Holds for so many. Takes time by ops x slices.
  [[nodiscard]] LowerLimit for_slices(const CallSize& size, int slices, int depth) const;

 private:
  /// What ops that touch the memory of the same ranks take.
  struct Path {
    std::vector<Use> uses;
    double seconds_per_byte = 0;  // alone
    double overhead = 0, latency = 0;

    bool operator==(const Path&) const = default;
  };
  struct MappedOp {
    int stream = 0, path = 0;
    int chunk = 0, count = 1;
    std::uint32_t first_cell = 0, sources = 0, destinations = 0;  // cells, offsets included

    bool operator==(const MappedOp&) const = default;
  };
  /// What a resource has to carry, and what comes before and behind it at least.
  struct Load {
    ResourceId resource = 0;
    double seconds_per_share = 0;  // a share: as many bytes as the longest chunk has
    double head = 0, tail = 0;     // seconds, with no bytes at all
  };
  class Finder;
  struct Times;

  void add_loads();
  [[nodiscard]] double pass(Times& times, int slice) const;
  template <class Place>
  [[nodiscard]] double ready(const Times& times, const MappedOp& op, const Place& place,
                             double wait, double stream_end) const;
  template <class Place>
  void touch(Times& times, const MappedOp& op, const Place& place, double when) const;
  void pass_back(Times& times) const;
  [[nodiscard]] LowerLimit limit_by_load(const Times& times) const;

  const Machine* machine_;
  int chunks_per_block_;
  std::size_t streams_ = 0;
  std::size_t cells_ = 0, user_cells_ = 0;
  std::vector<Path> paths_;
  std::vector<MappedOp> ops_;
  std::vector<std::uint32_t> cell_list_;
  std::vector<Load> loads_;
  double steps_ = 0;  // seconds, with no bytes at all
};

}  // namespace ringside
