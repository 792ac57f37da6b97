// SPDX-License-Identifier: MIT
#include "ringside/topology/build/pcie_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

/// Sets that can be united.
class Partition {
 public:
  explicit Partition(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }

  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  /// The smaller number stays the set's name.
  void unite(std::size_t i, std::size_t j) {
    const auto [low, high] = std::minmax({find(i), find(j)});
    parent_[high] = low;
  }

  /// Numbered from 0 in the order of the first members.
  std::vector<int> numbers() {
    std::map<std::size_t, int> numbers;
    std::vector<int> group;
    for (std::size_t i = 0; i < parent_.size(); ++i)
      group.push_back(numbers.emplace(find(i), static_cast<int>(numbers.size())).first->second);
    return group;
  }

 private:
  std::vector<std::size_t> parent_;
};

/// Pairs from i to j, each known and at most `farthest` apart, in words.
std::string chain(const PcieDistances& distances, std::size_t i, std::size_t j,
                  LinkClass farthest) {
  const std::size_t n = distances.names.size();
  std::vector<std::size_t> before(n, n);
  std::deque<std::size_t> frontier{i};
  before[i] = i;
  while (!frontier.empty() && before[j] == n) {
    const std::size_t here = frontier.front();
    frontier.pop_front();
    for (std::size_t next = 0; next < n; ++next) {
      const auto& known = distances.at(here, next);
      if (before[next] != n || !known || *known > farthest) continue;
      before[next] = here;
      frontier.push_back(next);
    }
  }
  std::vector<std::string> steps;
  for (std::size_t at = j; at != i && before[at] != n; at = before[at])
    steps.push_back(fmt::format("{} to {} is {}", distances.names[before[at]], distances.names[at],
                                to_string(*distances.at(before[at], at))));
  std::string words;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    words += (words.empty() ? "" : " and ") + *step;
  return words;
}

void check(const PcieDistances& distances, Partition& groups, LinkClass farthest) {
  const std::size_t n = distances.names.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      const auto& known = distances.at(i, j);
      if (!known || *known <= farthest || groups.find(i) != groups.find(j)) continue;
      throw Error(
          ErrorCode::bad_input,
          fmt::format("no machine is wired so: {} to {} is {}, but {}", distances.names[i],
                      distances.names[j], to_string(*known), chain(distances, i, j, farthest)));
    }
}

Partition certain_groups(const PcieDistances& distances, LinkClass farthest) {
  const std::size_t n = distances.names.size();
  Partition groups(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      if (const auto& known = distances.at(i, j); known && *known <= farthest) groups.unite(i, j);
  check(distances, groups, farthest);
  return groups;
}

/// The pairs of groups with a known pair across that is farther than their class.
std::set<std::pair<int, int>> separated(const PcieDistances& distances,
                                        const std::vector<int>& group, LinkClass farthest) {
  std::set<std::pair<int, int>> apart;
  for (std::size_t i = 0; i < group.size(); ++i)
    for (std::size_t j = 0; j < group.size(); ++j)
      if (const auto& known = distances.at(i, j); known && *known > farthest)
        apart.emplace(group[i], group[j]);
  return apart;
}

/// Puts groups of one place, or of no known place, into one NUMA node unless a known pair forbids
/// it.
std::vector<int> with_places(const PcieDistances& distances, Partition groups) {
  const std::size_t n = distances.names.size();
  const auto place_of = [&](std::size_t i) {
    for (std::size_t j = 0; j < n; ++j)
      if (groups.find(j) == groups.find(i) && !distances.place[j].empty())
        return distances.place[j];
    return std::string();
  };
  const auto forbidden = [&](std::size_t i, std::size_t j) {
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b)
        if (groups.find(a) == groups.find(i) && groups.find(b) == groups.find(j) &&
            distances.at(a, b) == LinkClass::sys)
          return true;
    return false;
  };
  const auto unite_if = [&](auto&& suits) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j)
        if (groups.find(i) != groups.find(j) && suits(place_of(i), place_of(j)) && !forbidden(i, j))
          groups.unite(i, j);
  };
  unite_if([](const std::string& a, const std::string& b) { return !a.empty() && a == b; });
  unite_if([](const std::string& a, const std::string& b) { return a.empty() || b.empty(); });
  return groups.numbers();
}

}  // namespace

PcieGroups find_pcie_groups(const PcieDistances& distances) {
  const std::size_t n = distances.names.size();
  PcieGroups groups;
  std::array<std::set<std::pair<int, int>>, grouping_classes.size()> apart;
  for (std::size_t level = 0; level < grouping_classes.size(); ++level) {
    auto certain = certain_groups(distances, grouping_classes[level]);
    groups.group[level] = certain.numbers();
    apart[level] = separated(distances, groups.group[level], grouping_classes[level]);
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      // Apart in one class is apart in every nearer one.
      PcieGroups::Open open{.first = i, .second = j};
      for (std::size_t level = 0; level < grouping_classes.size(); ++level) {
        const auto& group = groups.group[level];
        const bool last = level + 1 == grouping_classes.size();
        if (apart[level].contains({group[i], group[j]}))
          open.at_least = last ? LinkClass::sys : grouping_classes[level + 1];
        if (group[i] == group[j]) open.at_most = std::min(open.at_most, grouping_classes[level]);
      }
      if (open.at_least < open.at_most) groups.open.push_back(open);
    }
  groups.group.back() = with_places(distances, certain_groups(distances, LinkClass::node));
  return groups;
}

}  // namespace ringside
