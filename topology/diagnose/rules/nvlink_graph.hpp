// SPDX-License-Identifier: MIT
/// NVLink between the GPUs of a box, and the rings that stay in it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ringside/topology/diagnose/evidence.hpp"
#include "ringside/topology/graph.hpp"

namespace ringside {

/// GPUs by their places in Topology::gpus().
class NvlinkGraph {
 public:
  /// Without links for machines of more GPUs than a box has: there is no rule for them.
  explicit NvlinkGraph(const Topology& topology);

  [[nodiscard]] int gpus() const { return static_cast<int>(links_.size()); }
  [[nodiscard]] bool has_links() const;
  /// NVLinks of a pair; where they lead to an NVSwitch as many as the one with fewer has.
  [[nodiscard]] int links(int first, int second) const {
    return links_[static_cast<std::size_t>(first)][static_cast<std::size_t>(second)];
  }
  /// The most links that every hop of some ring over these GPUs has; 0: each ring leaves NVLink.
  [[nodiscard]] int best_ring(std::span<const int> gpus) const;
  /// So many GPUs, those with the best ring; the first such set.
  [[nodiscard]] std::vector<int> best_set(int wanted) const;
  /// GPUs that NVLink joins, directly or over others.
  [[nodiscard]] std::vector<std::vector<int>> groups() const;

 private:
  [[nodiscard]] bool has_ring(std::span<const int> gpus, int least) const;

  std::vector<std::vector<int>> links_;
};

/// Rings over all GPUs stay in NVLink: PCIe carries copies to and from the host and NICs only.
[[nodiscard]] bool rings_stay_in_nvlink(const Evidence& evidence);

/// What one NVLink of the machine carries in one direction as its maker says: GB/s. Nothing where
/// that is not known.
[[nodiscard]] std::optional<double> nvlink_nominal(const Topology& topology);

/// The numbers of GPUs as nvidia-smi prints them, for their places.
[[nodiscard]] std::vector<int> numbers_at(const Topology& topology, std::span<const int> places);
/// "GPU0, GPU1" for places.
[[nodiscard]] std::string gpu_names(const Topology& topology, std::span<const int> places);
/// "0,1": their numbers, as CUDA_VISIBLE_DEVICES takes them.
[[nodiscard]] std::string gpu_numbers(const Topology& topology, std::span<const int> places,
                                      std::string_view separator = ",");

}  // namespace ringside
