// SPDX-License-Identifier: MIT
/// Double tree: two binary trees, each for half of the data, in which no rank has children twice.
///
/// Tree 0 numbers its nodes in order, so that the odd ranks are inner nodes and the even ones
/// leaves. Tree 1 is its mirror image (n even) or shifted by one rank (n odd): there the odd ranks
/// are leaves. So every rank carries a tree's inner load at most once, and both directions of its
/// link are busy.
///
///     n = 6          tree 0 (chunk 0):     3          tree 1 (chunk 1):   2
///                                        /   \                          /   \               .
///                                       1     5                        0     4
///                                      / \   /                          \   / \             .
///                                     0   2 4                            1 3   5
///
///     per rank the chunks 0 | 1, a digit for every rank added so far, * when complete
///
///                 rank 0    rank 1    rank 2    rank 3    rank 4    rank 5
///     start      0 |  0    1 |  1    2 |   2   3 |   3   4 |   4    5 |  5
///     up 1       0 | 01  012 |  1    2 |   2   3 |   3   4 | 345   45 |  5
///     up 2       0 | 01  012 |  1    2 |   *   * |   3   4 | 345   45 |  5
///     down 1     0 |  *    * |  1    2 |   *   * |   3   4 |   *    * |  5
///     down 2     * |  *    * |  *    * |   *   * |   *   * |   *    * |  *
///
/// An inner node adds up both children and itself in one op.
///
/// Steps: 2 floor(log2 n) (the height of a tree, up and down).
/// Bytes sent by an inner node with two children: 2 S (S/2 to its parent and S/2 to each child in
/// its own tree, S/2 to its parent in the other); S for n = 2 and 3/2 S for n = 3, where the inner
/// nodes are roots.
/// Additions: in rank order along tree 0, in reverse (or shifted) along tree 1; a tree either way.
/// P. Sanders, J. Speck, J. L. Traeff: Two-tree algorithms for full bandwidth broadcast, reduction
/// and scan, Parallel Computing 35 (2009) 581-594.
#include <bit>

#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {
namespace {

constexpr int nobody = -1;

/// A node of the in-order tree; its children have smaller (first) and greater ranks (second).
struct Node {
  int rank = 0;
  int first = nobody;
  int second = nobody;

  [[nodiscard]] bool is_leaf() const { return first == nobody; }
};

/// The nodes of a tree of n, level by level from the root. The node 2^k - 1 with the greatest k is
/// the root: before it a full tree fits, and what is behind it is built alike. So only even ranks
/// have no child before them.
std::vector<std::vector<Node>> tree_levels(int n) {
  struct Range {
    int begin, end;
    [[nodiscard]] int root() const {
      const auto size = static_cast<unsigned>(end - begin);
      return size == 0 ? nobody : begin + static_cast<int>(std::bit_floor(size)) - 1;
    }
  };
  std::vector<std::vector<Node>> levels;
  for (std::vector<Range> ranges = {{0, n}}, next; !ranges.empty(); ranges.swap(next)) {
    next.clear();
    levels.emplace_back();
    for (const Range& range : ranges) {
      const int root = range.root();
      const Range before{range.begin, root}, after{root + 1, range.end};
      levels.back().push_back({root, before.root(), after.root()});
      for (const Range& part : {before, after})
        if (part.root() != nobody) next.push_back(part);
    }
  }
  return levels;
}

/// The ranks of a tree in the tree's own numbering: tree 0, and its image, tree 1.
std::vector<int> image(int n, int tree) {
  std::vector<int> ranks;
  for (int rank = 0; rank < n; ++rank)
    ranks.push_back(tree == 0 ? rank : n % 2 == 0 ? n - 1 - rank : (rank + 1) % n);
  return ranks;
}

OpStream up_both(Group g) {
  const auto levels = tree_levels(g.ranks());
  std::vector<Location> values, sum(1);
  for (auto level = levels.rbegin(); level != levels.rend(); ++level)
    for (int tree = 0; tree < 2; ++tree) {
      const Group t = g.among(image(g.ranks(), tree)).on_lane(tree);
      for (const Node& node : *level) {
        if (node.is_leaf()) continue;
        values = {};
        values.push_back(t.cur(node.first, tree));
        values.push_back(t.cur(node.rank, tree));
        if (node.second != nobody) values.push_back(t.cur(node.second, tree));
        sum[0] = t.output(node.rank, tree);
        co_yield t.op(node.rank, values, sum);
      }
    }
}

OpStream down_both(Group g) {
  const auto levels = tree_levels(g.ranks());
  const auto is_leaf = [](int node) { return node % 2 == 0; };
  // Inner nodes before leaves, which keep nobody waiting: every rank is a leaf of one tree.
  for (const bool leaves : {false, true})
    for (const auto& level : levels)
      for (int tree = 0; tree < 2; ++tree) {
        const Group t = g.among(image(g.ranks(), tree)).on_lane(2 + tree);
        for (const Node& node : level)
          for (int side = 0; side < 2; ++side) {
            const int child = side == 0 ? node.first : node.second;
            if (child != nobody && is_leaf(child) == leaves)
              co_yield t.copy(node.rank, child, tree);
          }
      }
}

}  // namespace

AlgorithmInfo double_tree() {
  return {.name = "double_tree",
          .summary = "two binary trees, each for half of the data; few steps, balanced bytes",
          .reference = "Sanders, Speck and Traeff 2009",
          .make = [](const Request& request, const Parameters&) {
            const int n = request.ranks;
            const int root = tree_levels(n).front().front().rank;
            auto algorithm = Algorithm::of_halves(
                2, 4,
                {.owner =
                     [n, root](int tree) { return image(n, tree)[static_cast<std::size_t>(root)]; },
                 .reduce = up_both,
                 .spread = down_both});
            algorithm.unsliced_lanes = 2;
            return algorithm;
          }};
}

}  // namespace ringside
