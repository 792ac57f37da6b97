// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/hosts_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/spec.hpp"

namespace ringside {
namespace {

// What a rank copies or adds up in memory, and how long it takes another of its host to see it.
// Measured on a 2-core virtual machine; only their ratios to the network's figures matter.
constexpr double memory_bandwidth = 5e9;
constexpr double memory_latency = 0.5e-6;

/// Slices keep both levels busy at a time, but each has messages of its own, which on a slow
/// network cost more than they win. Measured between network namespaces at 1 Gbit/s: 4 slices of 8
/// MiB were slower than one, 4 of 32 MiB as fast.
constexpr std::uint64_t slice_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t most_slices_tried = 8;

/// "0-1/2-3": the ranks of each host.
std::string groups_of(const HostsLayout& layout) {
  std::map<int, std::vector<int>> ranks;
  for (std::size_t rank = 0; rank < layout.host_of.size(); ++rank)
    ranks[layout.host_of[rank]].push_back(static_cast<int>(rank));
  std::vector<std::string> groups;
  for (const auto& [host, list] : ranks) groups.push_back(fmt::format("{}", fmt::join(list, "-")));
  return fmt::format("{}", fmt::join(groups, "/"));
}

std::string order_of(const HostsLayout& layout) {
  std::string text = groups_of(layout);
  std::replace(text.begin(), text.end(), '/', '-');
  return text;
}

std::vector<std::string> candidates(const HostsLayout& layout, const Request& request,
                                    std::uint64_t bytes) {
  const auto slices = std::clamp<std::uint64_t>(bytes / slice_bytes, 1, most_slices_tried);
  const auto sliced = [&](std::string_view spec) {
    return with_parameters(spec, slices == 1 ? "" : fmt::format("slices={}", slices));
  };
  std::vector<std::string> specs;
  switch (request.collective) {
    case Collective::all_reduce: {
      const auto ranks = layout.host_of.size();
      if (static_cast<std::size_t>(layout.hosts()) < ranks)
        for (const char* outer : {"ring", "two_shot", "recursive_doubling"})
          specs.push_back(sliced(fmt::format("hierarchical:groups={},inner=two_shot,outer={}",
                                             groups_of(layout), outer)));
      specs.push_back(sliced(fmt::format("ring:order={}", order_of(layout))));
      for (const char* flat : {"two_shot", "recursive_doubling", "one_shot"})
        specs.push_back(sliced(flat));
      break;
    }
    case Collective::broadcast:
    case Collective::reduce:
      specs = {sliced("linear"), sliced("binomial"), sliced("chain")};
      break;
    case Collective::gather:
    case Collective::scatter:
      specs = {"linear", "binomial"};
      break;
    case Collective::reduce_scatter:
    case Collective::all_gather:
      specs = {"direct", "ring"};
      break;
    case Collective::all_to_all:
      specs = {"direct", "pairwise"};
      break;
    case Collective::barrier:
      throw Error(ErrorCode::unsupported, "barrier needs no algorithm");
  }
  return specs;
}

/// Hops that an op makes one after the other: inside a host, and between hosts.
double latency_of(const Op& op, const HostsLayout& layout) {
  const int home = layout.host_of[static_cast<std::size_t>(op.rank)];
  const auto hop = [&](std::span<const Location> locations) {
    double longest = 0;
    for (const auto& location : locations) {
      if (location.rank == op.rank) continue;
      const bool far = layout.host_of[static_cast<std::size_t>(location.rank)] != home;
      longest = std::max(longest, far ? layout.network_latency : memory_latency);
    }
    return longest;
  };
  return hop(op.sources) + hop(op.destinations);
}

/// Of the longest chain of waits and queues.
double longest_chain(const Plan& plan, const HostsLayout& layout) {
  const Schedule schedule = make_schedule(plan);
  std::vector<double> end(plan.size());
  std::vector<double> of_stream(schedule.streams.size());
  for (std::size_t index = 0; index < plan.size(); ++index) {
    double& stream = of_stream[static_cast<std::size_t>(schedule.stream_of[index])];
    double begin = stream;
    for (const Wait& wait : schedule.waits(static_cast<int>(index)))
      if (wait.lag == 0)
        begin =
            std::max(begin, end[static_cast<std::size_t>(schedule.streams[static_cast<std::size_t>(
                                wait.stream)][static_cast<std::size_t>(wait.position)])]);
    end[index] = stream = begin + latency_of(plan.op(index), layout);
  }
  return plan.size() == 0 ? 0 : *std::max_element(end.begin(), end.end());
}

}  // namespace

int HostsLayout::hosts() const {
  std::vector<int> numbers = host_of;
  std::sort(numbers.begin(), numbers.end());
  return static_cast<int>(std::unique(numbers.begin(), numbers.end()) - numbers.begin());
}

HostsCost hosts_cost(const Plan& plan, const HostsLayout& layout) {
  // In chunks of the request, which are all alike.
  std::map<int, double> sent, received;  // by host
  std::vector<double> touched(static_cast<std::size_t>(plan.ranks()));
  for (std::size_t index = 0; index < plan.size(); ++index) {
    const Op op = plan.op(index);
    const int home = layout.host_of[static_cast<std::size_t>(op.rank)];
    const auto host_of = [&](const Location& location) {
      return layout.host_of[static_cast<std::size_t>(location.rank)];
    };
    for (const auto& from : op.sources)
      if (host_of(from) != home) sent[host_of(from)] += op.count, received[home] += op.count;
    for (const auto& to : op.destinations)
      if (host_of(to) != home) sent[home] += op.count, received[host_of(to)] += op.count;
    touched[static_cast<std::size_t>(op.rank)] +=
        op.count * static_cast<double>(op.sources.size() + op.destinations.size());
  }
  const double chunks = std::max(1, plan.chunks());
  double crossing = 0;
  for (const auto* direction : {&sent, &received})
    for (const auto& [host, count] : *direction) crossing = std::max(crossing, count);
  const double busiest = touched.empty() ? 0 : *std::max_element(touched.begin(), touched.end());
  return {crossing / chunks / layout.network_bandwidth + busiest / chunks / memory_bandwidth,
          longest_chain(plan, layout)};
}

Choice choose_across_hosts(const HostsLayout& layout, const Request& request, std::uint64_t bytes) {
  Choice choice;
  std::vector<std::pair<double, std::string>> predicted;
  for (const auto& spec : candidates(layout, request, bytes)) {
    if (refusal(spec, request)) continue;
    Request placed = request;
    if (!chooses_by_placement(request.collective)) placed.in_place = false;
    predicted.emplace_back(hosts_cost(make_plan(spec, placed), layout).of(bytes), spec);
  }
  if (predicted.empty())
    throw Error(ErrorCode::unsupported, fmt::format("no algorithm serves {} of {} ranks on hosts",
                                                    to_string(request.collective), request.ranks));
  std::stable_sort(predicted.begin(), predicted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  choice.spec = predicted.front().second;
  choice.why =
      fmt::format("predicted {:.3g} us on {} hosts with {:.3g} GB/s between them",
                  1e6 * predicted.front().first, layout.hosts(), layout.network_bandwidth / 1e9);
  if (predicted.size() > 1)
    choice.why +=
        fmt::format("; next is {} with {:.3g} us", predicted[1].second, 1e6 * predicted[1].first);
  return choice;
}

}  // namespace ringside
