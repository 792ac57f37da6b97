// SPDX-License-Identifier: MIT
/// The machine that `auto` plans for where no measurement decides: the option `topology`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ringside/collectives/request.hpp"
#include "ringside/collectives/selector/choice.hpp"
#include "ringside/topology/graph.hpp"

namespace ringside {

/// On the logarithmic scale; 0 stays 0.
[[nodiscard]] std::uint64_t nearest_power_of_two(std::uint64_t bytes);

/// A machine and what was chosen for it so far. Thread-safe.
class PlannedMachine {
 public:
  /// `live`: the topology is of the machine that this process runs on. Throws as Machine does.
  PlannedMachine(std::string name, Topology topology, bool live);
  ~PlannedMachine();

  /// The GPU of each device: by its address on the PCI bus where the topology is of this machine
  /// and tells addresses, else device i is GPU i. Throws Error(invalid_argument) for one that the
  /// topology has not got.
  [[nodiscard]] std::vector<int> gpus_of(const std::vector<int>& devices,
                                         const std::vector<PciAddress>& addresses) const;

  /// The predicted choice for ranks on these GPUs. Sizes count as the nearest power of two: a
  /// trainer has many, and a prediction takes some milliseconds to a second. The same answer for
  /// the same arguments, whatever was asked before.
  [[nodiscard]] Choice choose(const std::vector<int>& gpus, const Request& request,
                              std::uint64_t bytes);

  /// What a plan does on it and what no plan can beat, in words (explain.hpp); nothing for a single
  /// rank and for no bytes.
  [[nodiscard]] std::string explain(const std::vector<int>& gpus, const Request& request,
                                    std::uint64_t bytes, const std::string& spec);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What the option `topology` names; null where it is empty. A machine is read once per process, so
/// that ranks and worlds cannot see two versions of it. Throws what reading it throws.
[[nodiscard]] std::shared_ptr<PlannedMachine> planned_machine();

}  // namespace ringside
