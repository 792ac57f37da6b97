// SPDX-License-Identifier: MIT
/// The GPUs of a world's processes: this rank's own, who else has one, and which ranks of a host
/// reach each other's memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/executors/mpi/gpu/exports.hpp"
#include "ringside/collectives/executors/mpi/gpu/gpu.hpp"
#include "ringside/collectives/executors/mpi/team.hpp"
#include "ringside/collectives/lower.hpp"

namespace ringside::mpi {

class Gpus {
 public:
  /// A collective of all processes; `device`: this rank's, if it has one. Pairs of a host find out
  /// what they can do by doing it. Throws, on all of them, what make_gpu throws on any, or
  /// Error(device). The team outlives it.
  Gpus(Team& team, std::optional<int> device);

  /// Null: this rank has none.
  [[nodiscard]] Gpu* own() const { return gpu_.get(); }
  [[nodiscard]] const std::shared_ptr<Exports>& exports() const { return exports_; }
  /// Whether ranks of the world all have one.
  [[nodiscard]] bool all_have(const std::vector<int>& ranks) const;
  /// What ranks do with the memory of others' GPUs: between hosts messages, else what was found.
  [[nodiscard]] AccessMatrix access_among(const std::vector<int>& ranks) const;
  /// Which pairs of a host do not reach each other, in words; empty if there are none.
  [[nodiscard]] std::string unreached(const std::vector<int>& ranks) const;

 private:
  Team& team_;
  std::shared_ptr<Gpu> gpu_;
  std::shared_ptr<Exports> exports_;
  std::vector<bool> has_;  // by rank of the world
  AccessMatrix access_;    // among the ranks of the world
};

}  // namespace ringside::mpi
