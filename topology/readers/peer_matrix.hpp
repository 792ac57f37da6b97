// SPDX-License-Identifier: MIT
/// `nvidia-smi topo -p2p`: whether the driver lets GPUs reach into each other's memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct PeerMatrix {
  std::vector<std::string> names;
  std::string capability;  ///< the command's letter (r, w, n, a, p), "" where it is not told
  /// names x names, row to column: "OK", "NS", ...; "X" on the diagonal; "" where it is missing.
  std::vector<std::string> status;
  std::vector<std::string> missing_rows, partial_rows;

  [[nodiscard]] bool truncated() const { return !missing_rows.empty() || !partial_rows.empty(); }
  [[nodiscard]] const std::string& cell(std::size_t row, std::size_t column) const {
    return status[row * names.size() + column];
  }
};

struct Reading;

[[nodiscard]] std::vector<Reading> read_peer_matrices(const Text& text);

}  // namespace ringside
