// SPDX-License-Identifier: MIT
/// Which ranks a machine does not tell apart. Orders and groups of ranks that a symmetry takes to
/// each other are equally fast, so that one of them is enough to look at.
///
/// A *symmetry* is a permutation of the ranks under which every way between two ranks becomes the
/// way between their images: through as many resources, as fast, and shared with the images of
/// those that shared them.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ringside/topology/model/machine.hpp"

namespace ringside {

class Symmetry {
 public:
  /// `gpus`: of each rank.
  Symmetry(const Machine& machine, std::span<const int> gpus);

  [[nodiscard]] int ranks() const { return ranks_; }

  /// Whether a symmetry that leaves every rank of `fixed` alone takes `from` to `to`. May say no
  /// where there is one that would take long to find; never yes where there is none.
  [[nodiscard]] bool alike(std::span<const int> fixed, int from, int to) const;

  /// One of each kind of order, in lexicographic order; those that begin with `first`, if that is
  /// given. Not more than `most`.
  [[nodiscard]] std::vector<std::vector<int>> orders(std::optional<int> first,
                                                     std::size_t most) const;

 private:
  /// A way that a resource is on: what kind of way, from which rank to which, with what weight.
  using Mark = std::array<double, 4>;
  using Marks = std::vector<Mark>;  // sorted; what tells resources apart comes first

  [[nodiscard]] bool extend(std::vector<int>& image, std::vector<bool>& taken, int& tries) const;
  [[nodiscard]] bool preserves(const std::vector<int>& image) const;
  [[nodiscard]] int color(int a, int b) const {
    return colors_[static_cast<std::size_t>(a * ranks_ + b)];
  }
  struct Listing;
  void list(Listing& listing, bool whole) const;

  int ranks_ = 0;
  std::vector<int> colors_;      // [a x ranks + b]: what the ways between two ranks are like
  std::map<Marks, int> shared_;  // how many resources have these marks
};

}  // namespace ringside
