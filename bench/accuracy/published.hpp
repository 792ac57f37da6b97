// SPDX-License-Identifier: MIT
/// Measurements that others published, as two tables: what they measured, and for each row which
/// machine it is for the twin, what ran on it, or why the row is left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ringside::bench {

struct PublishedRow {
  int row = 0;  ///< in the table, from 1
  // As published:
  std::string system, topology, collective, size, source, notes;
  int gpus = 0;
  double measured = 0;  ///< GB/s: bus bandwidth; of a copy the rate
  // What it is for the twin:
  std::string group;                 ///< rows of one machine, left out together
  std::string machine;               ///< see published_machines.hpp
  std::vector<std::string> what_if;  ///< words
  std::vector<int> ranks_on;         ///< GPUs
  std::string way;                   ///< ring, nvls, pairs, auto, copy, copies_both_ways
  std::vector<double> bytes;         ///< several: the average of their bandwidths was published
  std::string excluded_because;      ///< empty: it counts
  std::string remark;
};

/// Texts of tables with tabs; the second has a line for each row of the first. Throws
/// Error(bad_input) that names the line.
[[nodiscard]] std::vector<PublishedRow> read_published(std::string_view measured,
                                                       std::string_view rows);

}  // namespace ringside::bench
