// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/candidates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/selector/choice.hpp"
#include "ringside/collectives/selector/groupings.hpp"
#include "ringside/collectives/selector/orders.hpp"
#include "ringside/collectives/selector/symmetry.hpp"

namespace ringside {
namespace {

/// All orders up to here; beyond, n! is out of reach and the machine has to tell which to take.
constexpr int most_ranks_in_any_order = 8;
/// Orders that are listed before the best are taken: all rings of 8.
constexpr std::size_t most_listed = 5040;
/// Orders that are kept by either measure (best_orders). On the presets the best is among the
/// first two; see the comparison with all orders in bench/results/choice_regret.md.
constexpr std::size_t kept_orders = 6;

/// Who moves the data, where an algorithm lets one say: words of the parameter `transfer`.
struct Transfers {
  std::string_view algorithm;
  std::array<std::string_view, 3> words;  // the first is the default
};
constexpr std::array transfers = {Transfers{"two_shot", {"fused", "push", "pull"}},
                                  Transfers{"one_shot", {"pull", "push"}}};

/// The algorithm once for each way to move its data.
std::vector<Spec> with_transfers(const std::string& name) {
  std::vector<Spec> specs = {{name, {}}};
  for (const Transfers& each : transfers)
    if (each.algorithm == name)
      for (auto word = each.words.begin() + 1; word != each.words.end() && !word->empty(); ++word)
        specs.push_back({name, {{"transfer", std::string(*word)}}});
  return specs;
}

std::string order_text(const Order& order) { return fmt::format("{}", fmt::join(order, "-")); }

std::string groups_text(const Groups& groups) {
  std::vector<std::string> parts;
  for (const auto& group : groups) parts.push_back(order_text(group));
  return fmt::format("{}", fmt::join(parts, "/"));
}

bool is_numbered(const Order& order) { return std::is_sorted(order.begin(), order.end()); }

Order numbered(int ranks) {
  Order order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// `name:order=...`; the order that is the default is not named.
Spec in_order(const std::string& name, const Order& order) {
  if (is_numbered(order)) return {name, {}};
  return {name, {{"order", order_text(order)}}};
}

/// As the value of another spec's parameter.
std::string nested(const Spec& spec) {
  const std::string text = to_string(spec);
  return text.find(',') == std::string::npos ? text : "(" + text + ")";
}

Spec hierarchical(const Groups& groups, const std::optional<Spec>& inner, const Spec& outer) {
  Spec spec{"hierarchical", {{"groups", groups_text(groups)}}};
  if (inner) spec.parameters.emplace_back("inner", nested(*inner));
  spec.parameters.emplace_back("outer", nested(outer));
  return spec;
}

bool takes(const AlgorithmInfo& info, std::string_view parameter) {
  return std::any_of(info.parameters.begin(), info.parameters.end(),
                     [&](const ParameterInfo& each) { return each.name == parameter; });
}

/// All ways to put ranks in groups of `size`, each group ascending, ordered by first ranks.
void list_equal_groups(const Order& left, std::size_t size, Groups& begun,
                       std::vector<Groups>& found) {
  if (left.empty()) {
    found.push_back(begun);
    return;
  }
  // The lowest rank that is left, with any others.
  std::vector<bool> chosen(left.size() - 1, false);
  std::fill_n(chosen.begin(), size - 1, true);
  do {
    std::vector<int> group = {left.front()};
    Order rest;
    for (std::size_t i = 1; i < left.size(); ++i) (chosen[i - 1] ? group : rest).push_back(left[i]);
    begun.push_back(std::move(group));
    list_equal_groups(rest, size, begun, found);
    begun.pop_back();
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
}

/// 0 .. size - 1, size .. 2 size - 1, ...
Groups consecutive(int size, int ranks) {
  Groups groups;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank % size == 0) groups.emplace_back();
    groups.back().push_back(rank);
  }
  return groups;
}

std::vector<Groups> all_equal_groups(int ranks) {
  std::vector<Groups> found;
  for (int size = 2; size < ranks; ++size) {
    Groups begun;
    if (ranks % size == 0)
      list_equal_groups(numbered(ranks), static_cast<std::size_t>(size), begun, found);
  }
  return found;
}

/// `groups` seen from inside each of `outer`, in its numbering, if that is the same in all: what an
/// algorithm inside the outer groups can be told. Nothing if a group crosses outer ones.
std::optional<Groups> within(const Groups& groups, const Groups& outer) {
  std::optional<Groups> common;
  for (const auto& members : outer) {
    Groups here;
    for (const auto& group : groups) {
      std::vector<int> places;
      for (const int rank : group) {
        const auto place = std::find(members.begin(), members.end(), rank);
        if (place != members.end()) places.push_back(static_cast<int>(place - members.begin()));
      }
      if (places.empty()) continue;
      if (places.size() != group.size()) return std::nullopt;
      here.push_back(std::move(places));
    }
    if (common && *common != here) return std::nullopt;
    common = std::move(here);
  }
  if (!common || common->size() <= 1 || common->size() == outer.front().size()) return std::nullopt;
  return common;
}

class Lister {
 public:
  Lister(const Machine& machine, std::span<const int> gpus, const Request& request, Breadth breadth)
      : machine_(machine),
        gpus_(gpus.begin(), gpus.end()),
        request_(request),
        ranks_(request.ranks),
        any_order_(request.ranks <= most_ranks_in_any_order),
        all_(breadth == Breadth::all && any_order_),
        costs_(machine, gpus_) {
    if (any_order_) symmetry_.emplace(machine, gpus_);
  }

  Candidates list() {
    for (const AlgorithmInfo& info : registered_algorithms()) {
      const auto& served = info.collectives;
      const bool serves =
          std::find(served.begin(), served.end(), request_.collective) != served.end();
      if (!serves || info.name == "hierarchical") continue;
      if (takes(info, "order"))
        for (const Order& order : orders_for(info)) add(in_order(info.name, order));
      else
        for (const Spec& spec : with_transfers(info.name)) add(spec);
    }
    if (request_.collective == Collective::all_reduce && ranks_ > 2) list_composed();
    return std::move(found_);
  }

 private:
  void add(const Spec& spec, bool fits = false) {
    std::string text = to_string(spec);
    if (!known_.insert(text).second) return;
    if (auto why = refusal(text, request_))
      found_.refused.push_back({std::move(text), std::move(*why)});
    else
      found_.listed.push_back({spec, fits});
  }

  /// Orders for an algorithm that takes one. A chain has ends; a ring, and whatever turns about a
  /// root, may begin anywhere.
  const std::vector<Order>& orders_for(const AlgorithmInfo& info) {
    const bool has_ends = info.name == "chain" && !has_root(request_.collective);
    auto& orders = has_ends ? chains_ : rings_;
    if (orders.empty()) orders = has_ends ? work_out_orders(std::nullopt) : work_out_orders(root());
    return orders;
  }

  [[nodiscard]] int root() const { return has_root(request_.collective) ? request_.root : 0; }

  /// Of chains (nothing) or of rings that begin with `first`.
  std::vector<Order> work_out_orders(std::optional<int> first) {
    if (!any_order_) return orders_along(machine_.topology(), gpus_);
    auto all = symmetry_->orders(first, most_listed);
    if (all_) return all;
    std::vector<OrderCost> costs;
    for (const Order& order : all)
      costs.push_back(first ? costs_.of_rings({&order, 1}) : costs_.of_chain(order));
    std::vector<Order> best = {numbered(ranks_)};
    for (const std::size_t index : best_orders(costs, kept_orders))
      if (all[index] != best.front()) best.push_back(all[index]);
    found_.orders_left_out += all.size() - std::min(all.size(), best.size());
    return best;
  }

  // --- hierarchical ----------------------------------------------------------------------------

  void list_composed() {
    const auto fitting = groupings(machine_.topology(), gpus_);
    for (std::size_t i = 0; i < fitting.size(); ++i) {
      list_grouping(fitting[i].groups);
      for (std::size_t finer = i + 1; finer < fitting.size(); ++finer)
        if (const auto inside = within(fitting[finer].groups, fitting[i].groups))
          list_three_levels(fitting[i].groups, *inside);
    }
    // Where the machine has no such groups they may pay all the same; consecutive ones stand for
    // all where ranks are alike.
    if (any_order_)
      for (int size = 2; size < ranks_; ++size)
        if (ranks_ % size == 0) list_few(consecutive(size, ranks_), false);
    list_reordered();
    if (all_)
      for (const Groups& groups : all_equal_groups(ranks_)) list_few(groups, false);
  }

  /// Inside groups: what has halves, and for small data what is quick.
  std::vector<Spec> inner_specs(const Groups& groups) const {
    std::vector<Spec> specs = with_transfers("two_shot");
    if (groups_of(2, groups)) return specs;  // a pair's ring and tree are the same exchange
    for (const Order& order : local_orders(groups)) specs.push_back(in_order("ring", order));
    for (const Order& order : local_orders(groups))
      specs.push_back(in_order("bidirectional_ring", order));
    for (const char* name : {"halving_doubling", "neighbour_push", "chain", "binomial"})
      specs.push_back({name, {}});
    for (Spec& spec : with_transfers("one_shot")) specs.push_back(std::move(spec));
    return specs;
  }

  std::vector<Spec> outer_specs(const Groups& groups) const {
    std::vector<Spec> specs = {{"ring", {}}};
    for (Spec& spec : with_transfers("two_shot")) specs.push_back(std::move(spec));
    for (Spec& spec : with_transfers("one_shot")) specs.push_back(std::move(spec));
    specs.push_back({"recursive_doubling", {}});
    if (groups.size() > 2)
      for (const char* name :
           {"halving_doubling", "chain", "double_tree", "bidirectional_ring", "neighbour_push"})
        specs.push_back({name, {}});
    return specs;
  }

  static bool groups_of(std::size_t size, const Groups& groups) {
    return std::all_of(groups.begin(), groups.end(),
                       [&](const auto& group) { return group.size() <= size; });
  }

  /// Orders inside groups that are all equally long: the best for rings in all of them at once.
  std::vector<Order> local_orders(const Groups& groups) const {
    const std::size_t size = groups.front().size();
    Order order = numbered(static_cast<int>(size));
    const bool equal = std::all_of(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.size() == size; });
    if (!equal || size > 4) return {order};
    std::vector<Order> all;
    std::vector<OrderCost> costs;
    do {
      std::vector<Order> rings;
      for (const auto& group : groups) {
        rings.emplace_back();
        for (const int place : order)
          rings.back().push_back(group[static_cast<std::size_t>(place)]);
      }
      all.push_back(order);
      costs.push_back(costs_.of_rings(rings));
    } while (std::next_permutation(order.begin() + 1, order.end()));
    std::vector<Order> best = {all.front()};
    for (const std::size_t index : best_orders(costs, 1))
      if (index != 0) best.push_back(all[index]);
    return best;
  }

  void list_grouping(const Groups& groups) {
    if (!any_order_) return list_few(groups, true);
    for (const Spec& inner : inner_specs(groups))
      for (const Spec& outer : outer_specs(groups)) add(hierarchical(groups, inner, outer), true);
  }

  /// The combinations that move the least data.
  void list_few(const Groups& groups, bool fits) {
    std::vector<Spec> inners = with_transfers("two_shot");
    inners.push_back({"ring", {}});
    for (const Spec& inner : inners)
      for (const char* outer : {"ring", "two_shot", "halving_doubling", "recursive_doubling"})
        add(hierarchical(groups, inner, {outer, {}}), fits);
  }

  /// Inside the outer groups another hierarchy.
  void list_three_levels(const Groups& outer, const Groups& inside) {
    const std::array<Spec, 2> specs = {Spec{"two_shot", {}}, Spec{"ring", {}}};
    for (const Spec& innermost : specs)
      for (const Spec& middle : specs)
        for (const Spec& across : specs)
          add(hierarchical(outer, hierarchical(inside, innermost, middle), across), true);
  }

  /// Algorithms that take no order, along orders of the machine: groups of one rank each do
  /// nothing inside, and across them runs the algorithm in the order of the groups.
  void list_reordered() {
    std::vector<Order> orders = orders_along(machine_.topology(), gpus_);
    if (any_order_) {
      const auto rings = rings_;  // the best are in there
      orders.insert(orders.end(), rings.begin(), rings.end());
      if (all_) orders = symmetry_->orders(std::nullopt, most_listed);
    }
    for (const Order& order : orders) {
      if (is_numbered(order)) continue;
      Groups alone;
      for (const int rank : order) alone.push_back({rank});
      for (const char* name :
           {"double_tree", "halving_doubling", "recursive_doubling", "binomial", "neighbour_push"})
        add(hierarchical(alone, std::nullopt, {name, {}}));
    }
  }

  const Machine& machine_;
  std::vector<int> gpus_;
  Request request_;
  int ranks_;
  bool any_order_, all_;
  OrderCosts costs_;
  std::optional<Symmetry> symmetry_;
  std::vector<Order> rings_, chains_;
  std::set<std::string> known_;
  Candidates found_;
};

}  // namespace

Candidates candidates(const Machine& machine, std::span<const int> gpus, const Request& request,
                      Breadth breadth) {
  validate(request);
  if (request.collective == Collective::barrier)
    throw Error(ErrorCode::unsupported, "barrier needs no algorithm");
  return Lister(machine, gpus, request, breadth).list();
}

}  // namespace ringside
