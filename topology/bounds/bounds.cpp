// SPDX-License-Identifier: MIT
#include "ringside/topology/bounds/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/topology/bounds/cuts.hpp"
#include "ringside/topology/bounds/whole_units.hpp"

namespace ringside {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

struct Question {
  const CapacityGraph& graph;
  const WholeGraph& whole;
  Demand demand;
  int root;  // vertex
};

/// What must leave a side, as a part of the message.
double demand_across(const Question& question, const Side& side) {
  const auto inside = static_cast<double>(ranks_on(question.whole, side));
  const auto all = static_cast<double>(question.whole.all_ranks);
  const double outside = all - inside;
  const bool root_inside = side[at(question.root)];
  if (inside == 0 || outside == 0) return 0;
  switch (question.demand) {
    case Demand::all_to_everyone_reduced:
      return 1;
    case Demand::gather_to_everyone:
      return inside / all;
    case Demand::reduce_to_shards:
      return outside / all;
    case Demand::one_to_everyone:
      return root_inside ? 1 : 0;
    case Demand::everyone_to_one:
      return root_inside ? 0 : 1;
    case Demand::shards_to_one:
      return root_inside ? 0 : inside / all;
    case Demand::one_to_shards:
      return root_inside ? outside / all : 0;
    case Demand::all_to_all:
      return inside * outside / all;
  }
  throw Error(ErrorCode::internal, "no such demand");
}

/// Capacities of arcs, each once, ascending.
std::vector<double> speeds_of(const CapacityGraph& graph) {
  std::vector<double> speeds;
  for (const auto& arc : graph.arcs) speeds.push_back(arc.capacity);
  std::sort(speeds.begin(), speeds.end());
  speeds.erase(std::unique(speeds.begin(), speeds.end()), speeds.end());
  return speeds;
}

/// Sides that may be the worst for all_to_all: those told in the header.
std::vector<Side> likely_sides(const Question& question) {
  const WholeGraph& whole = question.whole;
  std::vector<Side> sides;
  for (const double slowest : speeds_of(question.graph))
    for (const auto& part : parts_above(question.graph, slowest)) {
      sides.emplace_back(whole.vertices);
      for (const int vertex : part) sides.back()[at(vertex)] = true;
    }
  for (const int place : whole.places) {
    sides.emplace_back(whole.vertices);
    sides.back()[at(place)] = true;
  }
  sides.push_back(densest_cut(whole, whole.places));
  sides.push_back(densest_cut(reversed(whole), whole.places));
  sides.push_back(least_cut(whole, whole.places.front()));
  const std::size_t count = sides.size();
  for (std::size_t i = 0; i < count; ++i) sides.push_back(complement(sides[i]));
  return sides;
}

/// For every division of the places in two, the least that can leave one for the other.
std::vector<Side> all_least_sides(const WholeGraph& whole) {
  std::vector<Side> sides;
  for (unsigned members = 1; members + 1 < 1U << whole.places.size(); ++members) {
    std::vector<int> inside;
    std::vector<int> outside;
    for (std::size_t i = 0; i < whole.places.size(); ++i)
      ((members >> i & 1U) != 0 ? inside : outside).push_back(whole.places[i]);
    sides.push_back(least_cut_between(whole, inside, outside));
  }
  return sides;
}

std::vector<Side> candidates(const Question& question) {
  const WholeGraph& whole = question.whole;
  switch (question.demand) {
    case Demand::all_to_everyone_reduced:
      return {least_cut(whole, question.root),
              complement(least_cut(reversed(whole), question.root))};
    case Demand::one_to_everyone:
      return {least_cut(whole, question.root)};
    case Demand::everyone_to_one:
      return {complement(least_cut(reversed(whole), question.root))};
    case Demand::gather_to_everyone:
      return {densest_cut(whole, whole.places)};
    case Demand::reduce_to_shards:
      return {complement(densest_cut(reversed(whole), whole.places))};
    case Demand::shards_to_one:
      return {densest_cut(whole, std::vector{question.root})};
    case Demand::one_to_shards:
      return {complement(densest_cut(reversed(whole), std::vector{question.root}))};
    case Demand::all_to_all:
      if (whole.places.size() <= exact_all_to_all_ranks) return all_least_sides(whole);
      return likely_sides(question);
  }
  throw Error(ErrorCode::internal, "no such demand");
}

/// "GPU0, GPU1 and GPU2", "37 ranks".
std::string names(const Question& question, const Side& side) {
  std::vector<std::string> members;
  for (const int vertex : question.graph.compute)
    if (side[at(vertex)]) members.push_back(question.graph.vertices[at(vertex)]);
  constexpr std::size_t most_names = 8;
  if (members.size() > most_names) return fmt::format("{} ranks", members.size());
  std::string text = members.front();
  for (std::size_t i = 1; i < members.size(); ++i)
    text += (i + 1 == members.size() ? " and " : ", ") + members[i];
  return text;
}

std::string rate(double bytes_per_second) {
  return fmt::format("{:.4g} GB/s", bytes_per_second / 1e9);
}

/// "numa0 -> numa1", "8 links".
std::string arc_names(const CapacityGraph& graph, const std::vector<int>& arcs) {
  constexpr std::size_t most_names = 4;
  if (arcs.size() > most_names) return fmt::format("{} links", arcs.size());
  std::string text;
  for (const int arc : arcs) text += (text.empty() ? "" : ", ") + graph.arcs[at(arc)].name;
  return text;
}

std::string reason_of_cut(const Question& question, const Side& side, const Cut& cut) {
  const bool tell_inside = 2 * ranks_on(question.whole, side) <= question.whole.all_ranks;
  return fmt::format("{} of the message must {} {}, at {} over {}",
                     demand_across(question, side) == 1
                         ? "all"
                         : fmt::format("{:.4g} times", demand_across(question, side)),
                     tell_inside ? "leave" : "enter",
                     names(question, tell_inside ? side : complement(side)), rate(cut.capacity),
                     arc_names(question.graph, cut.arcs));
}

Bound worst_cut(const Question& question) {
  Bound worst;
  worst.seconds_per_byte = -1;
  for (const Side& side : candidates(question)) {
    const double demand = demand_across(question, side);
    if (demand == 0) continue;
    Cut cut = cut_of(question.graph, side);
    const double seconds_per_byte = demand / cut.capacity;
    if (seconds_per_byte <= worst.seconds_per_byte) continue;
    if (!std::isfinite(seconds_per_byte))
      throw Error(ErrorCode::bad_input, "the links do not connect all ranks");
    worst.seconds_per_byte = seconds_per_byte;
    worst.reason = reason_of_cut(question, side, cut);
    worst.cut = std::move(cut);
  }
  return worst;
}

double entering(const CapacityGraph& graph, const std::vector<int>& part) {
  Side side(graph.vertices.size());
  for (const int vertex : part) side[at(vertex)] = true;
  double sum = 0;
  for (const auto& arc : graph.arcs)
    if (side[at(arc.to)] && !side[at(arc.from)]) sum += arc.capacity;
  return sum;
}

Bound gossip_bound(const CapacityGraph& graph, std::vector<std::vector<int>> domains) {
  double capacity = 0;
  for (const auto& domain : domains) capacity += entering(graph, domain);
  Bound bound;
  const std::size_t times = 2 * (domains.size() - 1);
  bound.seconds_per_byte = static_cast<double>(times) / capacity;
  bound.ranks_reduce = true;
  const bool single_ranks = std::all_of(domains.begin(), domains.end(),
                                        [](const auto& domain) { return domain.size() == 1; });
  bound.reason = fmt::format(
      "{} times the message must enter the {} {}, which take in {} together", times, domains.size(),
      single_ranks ? "ranks" : "groups of ranks that faster links join", rate(capacity));
  bound.domains = std::move(domains);
  return bound;
}

/// The best for each number of domains: the ranks, and the parts that are left without the slowest
/// links.
std::vector<Bound> gossip_bounds(const Question& question) {
  std::map<std::size_t, Bound> by_domains;
  const auto consider = [&](std::vector<std::vector<int>> domains) {
    if (domains.size() < 2) return;
    Bound bound = gossip_bound(question.graph, std::move(domains));
    Bound& best = by_domains[bound.domains.size()];
    if (bound.seconds_per_byte > best.seconds_per_byte) best = std::move(bound);
  };
  std::vector<std::vector<int>> singles;
  for (const int place : question.whole.places) singles.push_back({place});
  std::sort(singles.begin(), singles.end());
  consider(std::move(singles));
  for (const double slowest : speeds_of(question.graph))
    consider(parts_above(question.graph, slowest));
  std::vector<Bound> bounds;
  for (auto& [count, bound] : by_domains)
    if (bound.seconds_per_byte > 0) bounds.push_back(std::move(bound));
  return bounds;
}

}  // namespace

std::vector<Bound> bounds_of_any_plan(const CapacityGraph& graph, Demand demand, int root) {
  const WholeGraph whole = whole_graph(graph, whole_units(graph).units);
  if (root < 0 || at(root) >= graph.compute.size())
    throw Error(ErrorCode::bad_input, fmt::format("no rank {} for a root", root));
  if (whole.places.size() < 2)
    return {Bound{0, {}, {}, false, "all ranks are on one GPU: nothing needs to move"}};
  const Question question{graph, whole, demand, graph.compute[at(root)]};
  std::vector<Bound> bounds = {worst_cut(question)};
  if (demand == Demand::all_to_everyone_reduced)
    for (auto& bound : gossip_bounds(question)) bounds.push_back(std::move(bound));
  std::stable_sort(bounds.begin(), bounds.end(), [](const Bound& a, const Bound& b) {
    return a.seconds_per_byte > b.seconds_per_byte;
  });
  return bounds;
}

std::string Bound::told() const {
  return reason + (ranks_reduce ? " (unless a switch reduces, as NVLink SHARP does)" : "");
}

}  // namespace ringside
