// SPDX-License-Identifier: MIT
/// The columns behind the matrix of `nvidia-smi topo -m`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/readers/link_matrix.hpp"

namespace ringside {

/// "cpu", "numa", "gnid" from the header's words, whatever blanks are between or inside them.
[[nodiscard]] std::vector<std::string> affinity_columns(std::string_view header_rest);

/// The texts of one row's cells, by column; a cell that is not in the text is missing.
struct AffinityRow {
  std::map<std::string, AffinityCell> cells;
  bool complete = true;
};

/// `rest` is what follows the last cell of the matrix. `at_cut`: the text ends here, so the last
/// word may be half of one. `overtyped`: the cell before lies over the first of these.
[[nodiscard]] AffinityRow read_affinity(std::string_view rest,
                                        const std::vector<std::string>& columns, bool at_cut,
                                        bool overtyped);

}  // namespace ringside
