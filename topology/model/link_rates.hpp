// SPDX-License-Identifier: MIT
/// What a link carries, by who moves the bytes.
#pragma once

#include "ringside/topology/graph.hpp"
#include "ringside/topology/model/link_model.hpp"

namespace ringside {

/// Lanes of a PCIe link that no input states the width of.
inline constexpr int full_pcie_width = 16;
/// The last that figures exist for.
inline constexpr int most_pcie_generation = 6;

/// Bytes per second in one direction.
struct LinkRate {
  double engine = 0;  ///< copy engines, NICs
  double kernel = 0;  ///< processors of a GPU

  [[nodiscard]] double best() const { return engine > kernel ? engine : kernel; }
};

/// A bandwidth that the topology states counts; then the model's figures. Throws Error(unsupported)
/// where the model has none.
[[nodiscard]] LinkRate link_rate(const Topology& topology, const LinkModel& model, LinkId id);

/// What to state as the link's bandwidth so that its `best` becomes `gb_per_s`: what is stated of
/// NVLink and of a network is a line rate, of which data reach a part.
[[nodiscard]] double stated_bandwidth_for(const Topology& topology, const LinkModel& model,
                                          LinkId id, double gb_per_s);

}  // namespace ringside
