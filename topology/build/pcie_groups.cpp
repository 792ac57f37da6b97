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

/// NUMA nodes in the making: groups that known pairs join, put together further by where their
/// devices say that they are.
class Places {
 public:
  Places(const PcieDistances& distances, std::vector<int> group)
      : group_(std::move(group)),
        count_(group_.empty() ? 0
                              : static_cast<std::size_t>(*std::ranges::max_element(group_)) + 1),
        merged_(count_),
        place_(count_),
        apart_(count_ * count_) {
    for (std::size_t i = 0; i < group_.size(); ++i) {
      auto& place = place_[group_at(i)];
      if (place.empty()) place = distances.place[i];
      for (std::size_t j = 0; j < group_.size(); ++j)
        if (distances.at(i, j) == LinkClass::sys) apart_[group_at(i) * count_ + group_at(j)] = true;
    }
  }

  /// Devices of one place first, then those of unknown place with the first that suits; never two
  /// that a known pair holds apart.
  std::vector<int> unite() {
    unite_if([](const std::string& a, const std::string& b) { return !a.empty() && a == b; });
    unite_if([](const std::string& a, const std::string& b) { return a.empty() || b.empty(); });
    Partition devices(group_.size());
    for (std::size_t i = 0; i < group_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (merged_.find(group_at(i)) == merged_.find(group_at(j))) devices.unite(i, j);
    return devices.numbers();
  }

 private:
  [[nodiscard]] std::size_t group_at(std::size_t device) const {
    return static_cast<std::size_t>(group_[device]);
  }

  template <class Suits>
  void unite_if(Suits suits) {
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t j = i + 1; j < count_; ++j) {
        const std::size_t a = merged_.find(i), b = merged_.find(j);
        if (a == b || apart_[a * count_ + b] || !suits(place_[a], place_[b])) continue;
        merged_.unite(a, b);
        const std::size_t kept = std::min(a, b), gone = std::max(a, b);
        if (place_[kept].empty()) place_[kept] = place_[gone];
        for (std::size_t c = 0; c < count_; ++c)
          if (apart_[gone * count_ + c])
            apart_[kept * count_ + c] = apart_[c * count_ + kept] = true;
      }
  }

  std::vector<int> group_;
  std::size_t count_;
  Partition merged_;
  std::vector<std::string> place_;
  std::vector<bool> apart_;
};

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
  groups.group.back() = Places(distances, groups.group.back()).unite();
  return groups;
}

}  // namespace ringside
