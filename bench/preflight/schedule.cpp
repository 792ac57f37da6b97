// SPDX-License-Identifier: MIT
#include "ringside/bench/preflight/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ringside::bench::preflight {
namespace {

constexpr std::uint64_t kib = 1024, mib = 1024 * kib;

/// One that fits in a page or two and is no multiple of 16 bytes, and one over several of the 2 MiB
/// pages of device memory: an offset or a hole in a mapping can be of either kind.
constexpr std::uint64_t small_check = 4 * kib + 8;
constexpr std::uint64_t large_check = 4 * mib, quick_check = mib;
/// Latency is that of the least a copy engine moves.
constexpr std::uint64_t latency_bytes = 16;
constexpr std::uint64_t most_bytes = 256 * mib, quick_bytes = 32 * mib;
/// A flow of all-to-all has n - 1 neighbours on each device; the links are filled with less.
constexpr std::uint64_t most_pattern_bytes = 64 * mib;
/// More takes longer to pin than to copy.
constexpr std::uint64_t most_host_bytes = 64 * mib;

bool allowed(Method method, const Flow& flow, const Facts& facts) {
  const auto [source, destination] = flow;
  switch (method) {
    case Method::kernel_store:
      return facts.can_access(source, destination);
    case Method::kernel_load:
      return facts.can_access(destination, source);
    case Method::peer_copy:
      return facts.can_access(source, destination) || facts.can_access(destination, source);
    case Method::host_copy:
      return false;
  }
  return false;
}

std::vector<Flow> ordered_pairs(int count) {
  std::vector<Flow> flows;
  for (int source = 0; source < count; ++source)
    for (int destination = 0; destination < count; ++destination)
      if (source != destination) flows.push_back({source, destination});
  return flows;
}

std::vector<Flow> flows_of(Traffic traffic, int count) {
  if (traffic == Traffic::all_to_all) return ordered_pairs(count);
  std::vector<Flow> flows;
  if (traffic == Traffic::ring)
    for (int device = 0; device < count; ++device) flows.push_back({device, (device + 1) % count});
  if (traffic == Traffic::pairs)
    for (int device = 0; device + 1 < count; device += 2) {
      flows.push_back({device, device + 1});
      flows.push_back({device + 1, device});
    }
  return flows;
}

/// Puts the list together; every function adds the steps of one kind.
class Schedule {
 public:
  Schedule(const Facts& facts, const Request& request) : facts_(facts), request_(request) {}

  void checks() {
    const auto large = request_.quick ? quick_check : large_check;
    host_steps(Quantity::check, large, {{Traffic::one_way, Traffic::all_devices}});
    local(Quantity::check, large);
    for (const bool access : {false, true})
      for (const auto method : {Method::peer_copy, Method::kernel_store, Method::kernel_load})
        for (const auto& flow : ordered_pairs(facts_.count()))
          for (const auto bytes : {small_check, large})
            pair({Quantity::check, Traffic::one_way, method, access, {flow}, bytes});
    for (const bool access : {false, true}) patterns(Quantity::check, access, large);
  }

  void times() {
    const auto bytes = request_.quick ? quick_bytes : most_bytes;
    local(Quantity::latency, latency_bytes);
    local(Quantity::bandwidth, bytes);
    for (const bool access : {false, true}) {
      one_way(Quantity::latency, Method::peer_copy, access, latency_bytes);
      one_way(Quantity::bandwidth, Method::peer_copy, access, bytes);
    }
    host_steps(Quantity::bandwidth, bytes,
               {{Traffic::one_way, Traffic::both_ways, Traffic::all_devices}});
    for (const bool access : {false, true})
      patterns(Quantity::bandwidth, access, std::min(bytes, most_pattern_bytes));
    for (const bool access : {false, true}) both_ways(access, bytes);
    if (request_.quick) return;
    one_way(Quantity::latency, Method::kernel_store, true, latency_bytes);
    for (const auto method : {Method::kernel_store, Method::kernel_load})
      one_way(Quantity::bandwidth, method, true, bytes);
  }

  std::vector<Step> finish() {
    // A step takes about six samples' time with its set-up; checks get the other 40 %.
    const auto timed = std::count_if(steps_.begin(), steps_.end(), [](const Step& step) {
      return step.quantity == Quantity::bandwidth;
    });
    const Seconds share = 0.6 * request_.total / static_cast<double>(6 * std::max<long>(timed, 1));
    for (auto& step : steps_)
      if (step.quantity == Quantity::bandwidth)
        step.time = std::clamp(share, Seconds(0.004), Seconds(0.04));
    return std::move(steps_);
  }

 private:
  /// Leaves out what the machine cannot do: kernels need access, and P2P enabled needs some.
  void pair(Step step) {
    const bool needs_access = step.peer_access || step.method != Method::peer_copy;
    if (needs_access && !step.peer_access) return;
    if (needs_access)
      std::erase_if(step.flows,
                    [&](const Flow& flow) { return !allowed(step.method, flow, facts_); });
    if (!step.flows.empty()) steps_.push_back(std::move(step));
  }

  void one_way(Quantity quantity, Method method, bool access, std::uint64_t bytes) {
    for (const auto& flow : ordered_pairs(facts_.count()))
      pair({quantity, Traffic::one_way, method, access, {flow}, bytes});
  }

  void both_ways(bool access, std::uint64_t bytes) {
    for (const auto& [a, b] : ordered_pairs(facts_.count()))
      if (a < b)
        pair({Quantity::bandwidth,
              Traffic::both_ways,
              Method::peer_copy,
              access,
              {{a, b}, {b, a}},
              bytes});
  }

  void patterns(Quantity quantity, bool access, std::uint64_t bytes) {
    if (facts_.count() < 2) return;
    for (const auto traffic : {Traffic::pairs, Traffic::ring, Traffic::all_to_all})
      pair(
          {quantity, traffic, Method::peer_copy, access, flows_of(traffic, facts_.count()), bytes});
  }

  void local(Quantity quantity, std::uint64_t bytes) {
    for (int device = 0; device < facts_.count(); ++device)
      steps_.push_back(
          {quantity, Traffic::one_way, Method::peer_copy, false, {{device, device}}, bytes});
  }

  void host_steps(Quantity quantity, std::uint64_t bytes, const std::vector<Traffic>& traffics) {
    const auto add = [&](Traffic traffic, std::vector<Flow> flows) {
      steps_.push_back({quantity, traffic, Method::host_copy, false, std::move(flows),
                        std::min(bytes, most_host_bytes)});
    };
    std::vector<Flow> down, up;
    for (int device = 0; device < facts_.count(); ++device) {
      down.push_back({host, device});
      up.push_back({device, host});
    }
    for (const auto traffic : traffics) {
      if (traffic == Traffic::all_devices) {
        std::vector<Flow> all = down;
        all.insert(all.end(), up.begin(), up.end());
        for (const auto& flows : {down, up, all}) add(traffic, flows);
        continue;
      }
      for (std::size_t i = 0; i < down.size(); ++i) {
        if (traffic == Traffic::both_ways) {
          add(traffic, {down[i], up[i]});
        } else {
          add(traffic, {down[i]});
          add(traffic, {up[i]});
        }
      }
    }
  }

  const Facts& facts_;
  const Request& request_;
  std::vector<Step> steps_;
};

bool shares_a_flow(const Step& a, const Step& b) {
  return std::any_of(a.flows.begin(), a.flows.end(), [&](const Flow& flow) {
    return std::find(b.flows.begin(), b.flows.end(), flow) != b.flows.end();
  });
}

}  // namespace

std::vector<Step> steps_of(const Facts& facts, const Request& request) {
  Schedule schedule(facts, request);
  schedule.checks();
  schedule.times();
  return schedule.finish();
}

std::optional<std::string> obstacle(const Step& step, const std::vector<Result>& results) {
  for (const auto& [earlier, outcome] : results) {
    if (outcome.ending != Ending::hang && outcome.ending != Ending::error) continue;
    if (earlier.method != step.method || earlier.peer_access != step.peer_access) continue;
    // Many flows at once blame none of them: only the same step again is left out.
    const bool single = earlier.flows.size() == 1;
    if (single ? !shares_a_flow(step, earlier) : step.traffic != earlier.traffic) continue;
    return fmt::format(
        "{}, {}{} {} before",
        single ? to_string(earlier.flows.front()) : std::string(to_string(earlier.traffic)),
        to_string(earlier.method), access_words(earlier),
        outcome.ending == Ending::hang ? "hung" : "failed");
  }
  return std::nullopt;
}

}  // namespace ringside::bench::preflight
