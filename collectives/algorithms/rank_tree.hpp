// SPDX-License-Identifier: MIT
/// The binomial tree for any root, in which whatever hangs below a rank is a run of ranks.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

namespace ringside {

/// An edge of the tree: `child` leads the ranks first .. first + count - 1, itself among them.
struct Branch {
  int parent, child;
  int first, count;
};

/// Ranks 0 .. n-1 are a run, led by the root. A run of m is cut behind the greatest power of two
/// below m; the part with the leader keeps it, the other is led by its first rank and hangs from
/// the leader. For root 0 that is the usual binomial tree. Listed from the root down, large runs
/// first, so upwards it is read from the end. Height: ceil(log2 n).
///
/// (Shifting the numbers by the root instead, as is often done, makes runs that wrap, and sums
/// whose order depends on the root.)
[[nodiscard]] inline std::vector<Branch> rank_tree(int ranks, int root) {
  struct Run {
    int leader, first, count;
  };
  std::vector<Branch> branches;
  std::vector<Run> runs = {{root, 0, ranks}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto [leader, first, count] = runs[i];
    if (count == 1) continue;
    const int lower = static_cast<int>(std::bit_ceil(static_cast<unsigned>(count))) / 2;
    const int middle = first + lower;
    const bool below = leader < middle;
    const Run other = below ? Run{middle, middle, count - lower} : Run{first, first, lower};
    branches.push_back({leader, other.leader, other.first, other.count});
    runs.push_back({leader, below ? first : middle, count - other.count});
    runs.push_back(other);
  }
  return branches;
}

}  // namespace ringside
