// SPDX-License-Identifier: MIT
/// `nvidia-smi topo -m` and `-mp`: how near devices are to each other, and to which processors.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/finding.hpp"
#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct LinkCell {
  LinkClass value = LinkClass::self;
  int count = 0;         ///< NVLinks
  bool old_sys = false;  ///< printed as SOC, the name of SYS until 2017

  bool operator==(const LinkCell&) const = default;
};

/// "NV12", "PIX", "SOC"; empty for what is no cell.
[[nodiscard]] std::optional<LinkCell> parse_link_cell(std::string_view word);
/// As it was printed.
[[nodiscard]] std::string to_string(const LinkCell& cell);

/// The text of a cell beside the matrix; nothing where it is there but cannot be read.
using AffinityCell = std::optional<std::string>;
/// By device; devices whose cell is not in the text are missing.
using AffinityColumn = std::map<std::string, AffinityCell>;

struct LinkMatrix {
  bool pcie_only = false;          ///< `-mp`: NVLink is not looked at
  std::vector<std::string> names;  ///< GPUs first, then NICs in the order of the header
  std::size_t gpus = 0;
  /// names x names; nothing where it is missing or unreadable. A cell that one row lacks is taken
  /// from its mirror image.
  std::vector<std::optional<LinkCell>> cells;

  std::vector<std::string> columns;  ///< of the header: "cpu", "numa", "gnid"
  AffinityColumn cpu_affinity, numa_affinity, gpu_numa_id;
  std::map<std::string, std::string> nic_legend;  ///< NIC0 -> mlx5_0

  bool damaged = false;  ///< cells are overtyped
  std::vector<std::string> missing_rows, partial_rows;

  [[nodiscard]] bool truncated() const { return !missing_rows.empty() || !partial_rows.empty(); }
  [[nodiscard]] const std::optional<LinkCell>& cell(std::size_t row, std::size_t column) const {
    return cells[row * names.size() + column];
  }
  [[nodiscard]] std::optional<LinkCell>& cell(std::size_t row, std::size_t column) {
    return cells[row * names.size() + column];
  }
};

struct Reading;

/// Every matrix of the text. Throws Error(bad_input) when one contradicts itself.
[[nodiscard]] std::vector<Reading> read_link_matrices(const Text& text);

}  // namespace ringside
