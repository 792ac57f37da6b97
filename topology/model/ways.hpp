// SPDX-License-Identifier: MIT
/// From routes to what a flow takes: the resources of a machine, and the ways of data over them.
///
/// Beyond the directed links, a machine has these resources:
/// - for each PCIe link both directions together: full duplex is not quite two times one direction,
///   and less with many flows, or when a GPU reads and writes host memory at once;
/// - the memory of each GPU and of each NUMA node; an op that reads two operands and stores one
///   takes three accesses of it;
/// - between a host bridge and the host's memory each direction (a quadrant of an I/O die);
/// - if posted writes collapse, the writes that leave each switch for other host bridges.
#pragma once

#include <optional>
#include <vector>

#include "ringside/topology/model/link_rates.hpp"
#include "ringside/topology/model/machine.hpp"
#include "ringside/topology/model/routes.hpp"

namespace ringside {

class Ways {
 public:
  /// All three must outlive it and stay as they are.
  Ways(const Topology& topology, const LinkModel& model, const MachineSettings& settings);

  [[nodiscard]] const std::vector<Resource>& resources() const { return resources_; }
  [[nodiscard]] bool peer_access(int from, int to) const;
  /// Directly or through the host within an op.
  [[nodiscard]] bool reaches(int from, int to) const;
  [[nodiscard]] Way read(Place from, int to, Mover mover);
  [[nodiscard]] Way write(int from, Place to, Mover mover);
  [[nodiscard]] const std::vector<NodeId>& gpus() const { return gpus_; }
  /// Bytes per second of a link at its best.
  [[nodiscard]] double best(LinkId link) const {
    return rates_[static_cast<std::size_t>(link)].best();
  }

 private:
  /// How the bytes of a route move.
  struct Manner {
    Mover mover = Mover::kernel;
    double share = 1;        ///< of the bytes
    double toll = 1;         ///< more that they take of every PCIe link
    bool with_host = false;  ///< one end is host memory
  };

  ResourceId add(std::string name, double gb_per_s, std::vector<double> efficiency = {});
  void add_links();
  void add_both_ways(LinkId id);
  void add_memories();
  void add_collapse();

  Way between(int from, int to, Mover mover, bool writes);
  Way with_host(int gpu, NodeId host, Mover mover, bool writes);
  Way staged(int from, int to, Mover mover);
  [[nodiscard]] std::vector<Route> legs_of(const Route& route) const;
  [[nodiscard]] bool leg_goes_over_host(const Route& leg, bool is_all) const;
  void take_host_memory(Way& way, const Route& leg, const Manner& manner) const;
  void take_route(Way& way, const Route& route, const Manner& manner) const;
  void take_collapse(Way& way, const Route& route, const Manner& manner) const;
  [[nodiscard]] double latency_of(const Route& route) const;
  [[nodiscard]] double toll_of(const Route& route, bool writes) const;
  [[nodiscard]] Route redirected(const Route& route) const;
  [[nodiscard]] NodeId gpu(int index) const { return gpus_.at(static_cast<std::size_t>(index)); }

  const Topology& topology_;
  const LinkModel& model_;
  const MachineSettings& settings_;
  Routes routes_;
  std::vector<NodeId> gpus_;
  std::vector<Resource> resources_;                  // the links first, by their ids
  std::vector<LinkRate> rates_;                      // by link
  std::vector<ResourceId> both_ways_;                // by link / 2, -1: none
  std::vector<ResourceId> both_ways_with_host_;      // the same
  std::vector<ResourceId> memory_;                   // by node: of a GPU, of a NUMA node
  std::vector<ResourceId> to_memory_, from_memory_;  // by node of a host bridge
  std::vector<ResourceId> collapse_;                 // by node of a switch
};

}  // namespace ringside
