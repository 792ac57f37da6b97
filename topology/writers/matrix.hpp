// SPDX-License-Identifier: MIT
/// A topology as `nvidia-smi topo -m` prints it.
#pragma once

#include <string>

#include "ringside/topology/path.hpp"

namespace ringside {

struct MatrixStyle {
  Medium medium = Medium::any;  ///< pcie: as `topo -mp`
  bool legend = true;
};

/// Tabs between the columns, as the original. GPUs and NICs of the first box; a pair that the
/// inputs leave open (and no NVLink joins) is "?", except that PHB also stands for "PHB or NODE".
/// Columns of affinity where they are known.
[[nodiscard]] std::string matrix_text(const Topology& topology, const MatrixStyle& style = {});

}  // namespace ringside
