// SPDX-License-Identifier: MIT
/// Maximum flow with whole capacities, made for many questions to one network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringside {

/// Dinic's algorithm (Soviet Math. Doklady 11, 1970). Levels are counted from the sink and only as
/// far as the source, so that a question about a near pair costs little in a large network.
class FlowNetwork {
 public:
  explicit FlowNetwork(std::size_t vertices) : arcs_of_(vertices), level_(vertices, unreached) {}

  /// Returns the arc's number. Capacities are not negative; those of all arcs that leave a vertex
  /// must add up to less than 2^63.
  int add_arc(int from, int to, std::int64_t capacity);
  void set_capacity(int arc, std::int64_t capacity);

  /// The maximum flow from source to sink, or `enough` if it is at least that.
  [[nodiscard]] std::int64_t flow(int source, int sink, std::int64_t enough);
  /// After a flow that was less than `enough`: the source's side of a least cut, the largest one.
  [[nodiscard]] std::vector<bool> source_side() const;

 private:
  static constexpr int unreached = -1;
  struct HalfArc {
    int to = 0;
    std::int64_t left = 0;  // capacity that is not used
  };
  bool find_levels(int source, int sink);
  std::int64_t blocking_flow(int source, int sink, std::int64_t most);
  std::int64_t augment(std::int64_t most);
  void push(int half, std::int64_t amount);
  void forget_flow();

  std::vector<HalfArc> halves_;            // 2k and 2k + 1 are an arc and its reverse
  std::vector<std::vector<int>> arcs_of_;  // halves that leave a vertex
  std::vector<int> level_;                 // distance to the sink, unreached
  std::vector<std::size_t> next_ = std::vector<std::size_t>(arcs_of_.size());  // half to try next
  std::vector<int> reached_;  // vertices with a level
  std::vector<int> path_;     // halves from the source on
  std::vector<std::pair<int, std::int64_t>> pushed_;
};

}  // namespace ringside
