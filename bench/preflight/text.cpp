// SPDX-License-Identifier: MIT
#include "ringside/bench/preflight/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include "ringside/base/text.hpp"

namespace ringside::bench::preflight {
namespace {

using Cell = std::function<std::optional<double>(int row, int column)>;

/// A matrix in the layout of p2pBandwidthLatencyTest; nothing if it has no number.
std::string matrix(const std::string& title, int count, const Cell& cell) {
  bool any = false;
  std::string text = title + "\n   D\\D";
  for (int column = 0; column < count; ++column) text += fmt::format("{:>7}", column);
  text += "\n";
  for (int row = 0; row < count; ++row) {
    text += fmt::format("{:>6}", row);
    for (int column = 0; column < count; ++column) {
      const auto value = cell(row, column);
      any = any || value;
      text += value ? fmt::format(" {:>6.2f}", *value) : fmt::format(" {:>6}", "-");
    }
    text += "\n";
  }
  return any ? text + "\n" : std::string();
}

/// The result of a flow alone, if it was measured. Within a device P2P has no meaning: it stands in
/// the diagonal of every matrix.
const Result* measured(const Report& report, Quantity quantity, Traffic traffic, Method method,
                       bool access, const Flow& flow) {
  const bool within = flow.source == flow.destination;
  for (const auto& result : report.results) {
    const auto& [step, outcome] = result;
    if (step.quantity != quantity || outcome.times.empty() || step.flows.front() != flow) continue;
    if (within ? step.flows.size() == 1
               : step.traffic == traffic && step.method == method && step.peer_access == access)
      return &result;
  }
  return nullptr;
}

constexpr double giga = 1e9, micro = 1e-6;

std::string latency_matrix(const Report& report, const std::string& title, Method method,
                           bool access) {
  return matrix(title, report.facts.count(), [&](int row, int column) -> std::optional<double> {
    const auto* result =
        measured(report, Quantity::latency, Traffic::one_way, method, access, {row, column});
    if (result == nullptr) return std::nullopt;
    return result->outcome.times.front().count() / micro;
  });
}

std::string bandwidth_matrix(const Report& report, const std::string& title, Traffic traffic,
                             Method method, bool access) {
  return matrix(title, report.facts.count(), [&](int row, int column) -> std::optional<double> {
    // Both ways is measured once for the two, and is the sum.
    const Flow flow =
        traffic == Traffic::both_ways && row > column ? Flow{column, row} : Flow{row, column};
    const auto* result = measured(report, Quantity::bandwidth, traffic, method, access, flow);
    if (result == nullptr) return std::nullopt;
    return total_rate(*result) / giga;
  });
}

bool off_the_diagonal(const Report& report, Quantity quantity, Traffic traffic, Method method,
                      bool access) {
  return std::any_of(report.results.begin(), report.results.end(), [&](const Result& result) {
    const auto& step = result.step;
    return step.quantity == quantity && step.traffic == traffic && step.method == method &&
           step.peer_access == access && !result.outcome.times.empty() &&
           step.flows.front().source != step.flows.front().destination;
  });
}

std::string matrices(const Report& report) {
  struct Table {
    const char* title;
    Quantity quantity;
    Traffic traffic;
    Method method;
    bool access;
  };
  using enum Quantity;
  using enum Traffic;
  using enum Method;
  const Table tables[] = {
      {"Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", bandwidth, one_way, peer_copy, false},
      {"Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", bandwidth, one_way,
       peer_copy, true},
      {"Unidirectional P2P=Enabled Bandwidth (kernel stores) Matrix (GB/s)", bandwidth, one_way,
       kernel_store, true},
      {"Unidirectional P2P=Enabled Bandwidth (kernel loads) Matrix (GB/s)", bandwidth, one_way,
       kernel_load, true},
      {"Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)", bandwidth, both_ways, peer_copy,
       false},
      {"Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", bandwidth, both_ways, peer_copy, true},
      {"P2P=Disabled Latency Matrix (us)", latency, one_way, peer_copy, false},
      {"P2P=Enabled Latency (P2P Writes) Matrix (us)", latency, one_way, peer_copy, true},
      {"P2P=Enabled Latency (kernel stores) Matrix (us)", latency, one_way, kernel_store, true}};
  std::string text;
  for (const auto& [title, quantity, traffic, method, access] : tables) {
    // A single device has the diagonal of the first table of each kind, and no others.
    const bool alone = report.facts.count() == 1 && !access && traffic == one_way;
    if (!alone && !off_the_diagonal(report, quantity, traffic, method, access)) continue;
    text += quantity == latency ? latency_matrix(report, title, method, access)
                                : bandwidth_matrix(report, title, traffic, method, access);
  }
  return text;
}

std::string title(const Report& report) {
  const auto& facts = report.facts;
  const auto what = is_virtual(facts) ? "virtual devices: nothing was measured"
                    : report.results.empty()
                        ? "nothing was measured"
                        : fmt::format("measured in {}", format_duration(report.elapsed));
  const int count = facts.count();
  const auto gpus =
      count == 0 ? "GPUs unknown" : fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
  return fmt::format("# preflight of {} {}: {}, CUDA driver {}, runtime {}; {}\n", report.host_name,
                     report.start_time, gpus, cuda_version(facts.driver_version),
                     cuda_version(facts.runtime_version), what);
}

std::string devices(const Report& report) {
  std::string text;
  for (const auto& device : report.facts.devices) {
    text += fmt::format("device {}: {}, {}, compute capability {}.{}, {}", device.device,
                        device.name, device.pci_bus_id, device.compute_major, device.compute_minor,
                        format_bytes(device.memory_bytes));
    if (device.numa_node) text += fmt::format(", NUMA node {}", *device.numa_node);
    if (device.link.width && device.link_most.width)
      text += fmt::format(", PCIe x{} of x{}", *device.link.width, *device.link_most.width);
    text += "\n";
  }
  return text + "\n";
}

std::string access(const Report& report) {
  const int count = report.facts.count();
  if (count < 2)
    return count == 0
               ? std::string()
               : "one GPU: there are no pairs; copies within it and from and to the host were "
                 "looked at\n\n";
  std::string text =
      "P2P Connectivity Matrix (1: the row's device may access the column's)\n   D\\D";
  for (int column = 0; column < count; ++column) text += fmt::format("{:>6}", column);
  text += "\n";
  for (int row = 0; row < count; ++row) {
    text += fmt::format("{:>6}", row);
    for (int column = 0; column < count; ++column)
      text += fmt::format("{:>6}", row == column || report.facts.can_access(row, column) ? 1 : 0);
    text += "\n";
  }
  return text + "\n";
}

/// "pairs, P2P enabled"; "0 -> host"
std::string name_of(const Step& step) {
  if (step.method == Method::host_copy) {
    const bool down = std::any_of(step.flows.begin(), step.flows.end(),
                                  [](const Flow& flow) { return flow.source == host; });
    const bool up = std::any_of(step.flows.begin(), step.flows.end(),
                                [](const Flow& flow) { return flow.destination == host; });
    const auto device = step.traffic == Traffic::all_devices
                            ? std::string("all devices")
                            : fmt::format("device {}", std::max(step.flows.front().source,
                                                                step.flows.front().destination));
    return fmt::format("{}, {}", device,
                       down && up ? "both ways"
                       : down     ? "from the host"
                                  : "to the host");
  }
  std::string traffic(to_string(step.traffic));
  std::replace(traffic.begin(), traffic.end(), '_', ' ');
  return traffic + access_words(step);
}

/// A line per bandwidth that `wanted` takes.
std::string bandwidths(const Report& report, const std::string& heading,
                       const std::function<bool(const Step&)>& wanted) {
  std::string text;
  for (const auto& result : report.results) {
    const auto& [step, outcome] = result;
    if (step.quantity != Quantity::bandwidth || outcome.times.empty() || !wanted(step)) continue;
    const auto slowest = std::max_element(outcome.times.begin(), outcome.times.end());
    text += fmt::format("  {:<28} {:>8.2f}", name_of(step), total_rate(result) / giga);
    if (step.flows.size() > 1)
      text += fmt::format(
          " in all, {:.2f} the slowest ({})", rate(outcome.bytes, *slowest) / giga,
          to_string(step.flows[static_cast<std::size_t>(slowest - outcome.times.begin())]));
    text += "\n";
  }
  return text.empty() ? text : heading + "\n" + text + "\n";
}

std::string not_run(const Report& report) {
  std::string text;
  for (const auto ending : {Ending::blocked, Ending::no_time, Ending::no_memory}) {
    std::vector<const Result*> list;
    for (const auto& result : report.results)
      if (result.outcome.ending == ending) list.push_back(&result);
    if (list.empty()) continue;
    text += fmt::format("# {} step{} not run, the first: {}: {}\n", list.size(),
                        list.size() == 1 ? "" : "s", to_string(list.front()->step),
                        list.front()->outcome.text);
  }
  return text;
}

std::string verdict(const Report& report) {
  const auto findings = findings_of(report);
  if (findings.empty())
    return fmt::format("no finding: {} checked copies arrived as sent\n", checks_done(report));
  std::string text;
  for (const auto& finding : findings) text += fmt::format("finding: {}\n", finding.text);
  return text;
}

}  // namespace

std::string text_of(const Report& report) {
  const auto at_once = [](const Step& step) {
    return step.method != Method::host_copy && step.traffic != Traffic::one_way &&
           step.traffic != Traffic::both_ways;
  };
  const auto of_host = [](const Step& step) { return step.method == Method::host_copy; };
  return title(report) + devices(report) + access(report) + matrices(report) +
         bandwidths(report, "Peer copies at once (GB/s)", at_once) +
         bandwidths(report, "Copies between pinned host memory and devices (GB/s)", of_host) +
         not_run(report) + verdict(report);
}

}  // namespace ringside::bench::preflight
