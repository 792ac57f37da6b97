// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/symmetry.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ringside {
namespace {

/// Complete permutations that are tried for a pair before it counts as not alike.
constexpr int most_tries = 64;

/// The ways between two ranks that a plan may use.
struct PairWays {
  std::vector<std::pair<int, const Way*>> ways;  // with what kind each is
};

PairWays ways_between(const Machine& machine, int executing, int other, bool through_host) {
  PairWays pair;
  int kind = 0;
  const auto add = [&](const Way& way) { pair.ways.emplace_back(kind++, &way); };
  for (const Mover mover : {Mover::kernel, Mover::copy_engine}) {
    add(machine.read({other, false}, executing, mover));
    add(machine.write(executing, {other, false}, mover));
    if (!through_host) continue;
    add(machine.read({other, true}, executing, mover));
    add(machine.write(executing, {other, true}, mover));
  }
  return pair;
}

/// Gives equal values equal numbers.
template <class T>
int number_of(std::map<T, int>& numbers, const T& value) {
  return numbers.try_emplace(value, static_cast<int>(numbers.size())).first->second;
}

}  // namespace

Symmetry::Symmetry(const Machine& machine, std::span<const int> gpus)
    : ranks_(static_cast<int>(gpus.size())) {
  bool through_host = false;
  for (const int a : gpus)
    for (const int b : gpus) through_host |= a != b && !machine.peer_access(a, b);

  std::map<std::vector<double>, int> resource_kinds;
  const auto resources = machine.resources();
  const auto kind_of = [&](ResourceId id) {
    const Resource& resource = resources[static_cast<std::size_t>(id)];
    std::vector<double> value = {resource.capacity};
    value.insert(value.end(), resource.efficiency.begin(), resource.efficiency.end());
    return number_of(resource_kinds, value);
  };

  std::map<std::vector<double>, int> pair_kinds;
  std::map<ResourceId, Marks> marks;
  for (int a = 0; a < ranks_; ++a)
    for (int b = 0; b < ranks_; ++b) {
      const int executing = gpus[static_cast<std::size_t>(a)];
      const int other = gpus[static_cast<std::size_t>(b)];
      std::vector<double> looks = {executing == other ? 1.0 : 0.0,
                                   machine.peer_access(executing, other) ? 1.0 : 0.0};
      for (const auto& [kind, way] : ways_between(machine, executing, other, through_host).ways) {
        std::vector<std::pair<double, double>> uses;
        for (const Use& use : way->uses) {
          uses.emplace_back(kind_of(use.resource), use.weight);
          marks[use.resource].push_back({static_cast<double>(kind), static_cast<double>(a),
                                         static_cast<double>(b), use.weight});
        }
        std::sort(uses.begin(), uses.end());
        looks.push_back(way->latency);
        looks.push_back(static_cast<double>(uses.size()));
        for (const auto& [resource, weight] : uses) {
          looks.push_back(resource);
          looks.push_back(weight);
        }
      }
      colors_.push_back(number_of(pair_kinds, looks));
    }
  for (auto& [resource, of_resource] : marks) {
    std::sort(of_resource.begin(), of_resource.end());
    of_resource.insert(of_resource.begin(), Mark{-1, static_cast<double>(kind_of(resource)), 0, 0});
    ++shared_[of_resource];
  }
}

bool Symmetry::preserves(const std::vector<int>& image) const {
  const auto moved = [&](double rank) {
    return static_cast<double>(image[static_cast<std::size_t>(rank)]);
  };
  for (const auto& [marks, count] : shared_) {
    Marks mapped = marks;
    for (auto mark = mapped.begin() + 1; mark != mapped.end(); ++mark)
      *mark = {(*mark)[0], moved((*mark)[1]), moved((*mark)[2]), (*mark)[3]};
    std::sort(mapped.begin() + 1, mapped.end());
    const auto found = shared_.find(mapped);
    if (found == shared_.end() || found->second != count) return false;
  }
  return true;
}

/// Finds images for the ranks that have none (-1), in their order.
bool Symmetry::extend(std::vector<int>& image, std::vector<bool>& taken, int& tries) const {
  const auto next = std::find(image.begin(), image.end(), -1);
  if (next == image.end()) return tries-- > 0 && preserves(image);
  const int rank = static_cast<int>(next - image.begin());
  for (int to = 0; to < ranks_ && tries > 0; ++to) {
    if (taken[static_cast<std::size_t>(to)] || color(rank, rank) != color(to, to)) continue;
    bool fits = true;
    for (int other = 0; other < ranks_ && fits; ++other) {
      const int there = image[static_cast<std::size_t>(other)];
      if (there >= 0)
        fits = color(rank, other) == color(to, there) && color(other, rank) == color(there, to);
    }
    if (!fits) continue;
    image[static_cast<std::size_t>(rank)] = to;
    taken[static_cast<std::size_t>(to)] = true;
    if (extend(image, taken, tries)) return true;
    image[static_cast<std::size_t>(rank)] = -1;
    taken[static_cast<std::size_t>(to)] = false;
  }
  return false;
}

bool Symmetry::alike(std::span<const int> fixed, int from, int to) const {
  if (from == to) return true;
  if (color(from, from) != color(to, to)) return false;
  std::vector<int> image(static_cast<std::size_t>(ranks_), -1);
  std::vector<bool> taken(static_cast<std::size_t>(ranks_), false);
  for (const int rank : fixed) {
    if (rank == from || rank == to) return false;
    if (color(rank, from) != color(rank, to) || color(from, rank) != color(to, rank)) return false;
    image[static_cast<std::size_t>(rank)] = rank;
    taken[static_cast<std::size_t>(rank)] = true;
  }
  image[static_cast<std::size_t>(from)] = to;
  taken[static_cast<std::size_t>(to)] = true;
  int tries = most_tries;
  return extend(image, taken, tries);
}

struct Symmetry::Listing {
  std::vector<int> begun;
  std::vector<std::vector<int>> found;
  std::size_t most;
};

/// All ways to go on from `begun`. `whole`: nothing but the identity leaves it alone, so nothing
/// can be left out any more.
void Symmetry::list(Listing& listing, bool whole) const {
  if (listing.begun.size() == static_cast<std::size_t>(ranks_)) {
    listing.found.push_back(listing.begun);
    return;
  }
  std::vector<int> kinds;
  bool merged = false;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (std::find(listing.begun.begin(), listing.begun.end(), rank) != listing.begun.end())
      continue;
    const bool known = !whole && std::any_of(kinds.begin(), kinds.end(), [&](int kind) {
      return alike(listing.begun, kind, rank);
    });
    merged |= known;
    if (!known) kinds.push_back(rank);
  }
  for (const int rank : kinds) {
    if (listing.found.size() >= listing.most) return;
    listing.begun.push_back(rank);
    list(listing, whole || !merged);
    listing.begun.pop_back();
  }
}

std::vector<std::vector<int>> Symmetry::orders(std::optional<int> first, std::size_t most) const {
  Listing listing{.begun = {}, .found = {}, .most = most};
  if (first) listing.begun.push_back(*first);
  list(listing, false);
  return std::move(listing.found);
}

}  // namespace ringside
