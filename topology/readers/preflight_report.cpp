// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/preflight_report.hpp"

#include <algorithm>

#include "ringside/topology/build/from_xml.hpp"
#include "ringside/topology/readers/json_text.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr std::int64_t most_devices = 1024;

std::string text_or_empty(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_string() ? value->text() : "";
}

std::optional<int> whole(const JsonValue& object, std::string_view key, std::int64_t most) {
  const auto value = object.find(key);
  if (!value || value->is_null()) return std::nullopt;
  return static_cast<int>(value->integer(0, most));
}

/// A device's number, or the word "host".
int end_of_flow(const JsonValue& value) {
  if (value.is_string()) return (void)value.choice({"host"}), host_memory;
  return static_cast<int>(value.integer(0, most_devices));
}

std::optional<int> end_if_known(const JsonValue& value) {
  return value.is_null() ? std::nullopt : std::optional(end_of_flow(value));
}

std::optional<bool> peer_access(const JsonValue& step) {
  const auto value = step["peer_access"];
  return value.is_null() ? std::nullopt : std::optional(value.boolean());
}

PreflightReport::Device read_device(const JsonValue& json) {
  PreflightReport::Device device;
  device.device.number = static_cast<int>(json["device"].integer(0, most_devices));
  device.device.model = json["name"].text();
  device.device.address = parse_pci_address(text_or_empty(json, "pci_bus_id"));
  device.numa = whole(json, "numa_node", 1'000'000);
  device.link.bus_id = text_or_empty(json, "pci_bus_id");
  device.link.model = device.device.model;
  const auto note = [](auto& known, const char* key, std::optional<int> value) {
    if (value) known[key] = *value;
  };
  note(device.link.generation, "Current",
       pcie_generation(text_or_empty(json, "pcie_link_speed_idle")));
  note(device.link.generation, "Device Max",
       pcie_generation(text_or_empty(json, "pcie_link_speed_most")));
  note(device.link.width, "Current", whole(json, "pcie_link_width", 64));
  note(device.link.width, "Max", whole(json, "pcie_link_width_most", 64));
  return device;
}

class MeasurementReader {
 public:
  explicit MeasurementReader(PreflightReport& report) : report_(report) {}

  void read(const JsonValue& root) {
    for (const auto& step : root["bandwidths"].items()) {
      read_bandwidth(step);
      note_link_under_load(step);
    }
    for (const auto& step : root["latencies"].items()) read_latency(step);
    for (const auto& step : root["checks"].items())
      for (const auto& flow : step["flows"].items())
        report_.checks += flow["arrival"].is_null() ? 0 : 1;
    for (const auto& finding : root["findings"].items()) read_finding(finding);
  }

 private:
  static MeasuredMethod method_of(const JsonValue& step) {
    const auto& name = step["method"].text();
    return name.starts_with("kernel") ? MeasuredMethod::kernel : MeasuredMethod::copy_engine;
  }

  void add(const JsonValue& step, const JsonValue& flow, MeasuredTraffic traffic,
           MeasuredQuantity quantity, double value) {
    report_.measured.pairs.push_back({.from = end_of_flow(flow["source"]),
                                      .to = end_of_flow(flow["destination"]),
                                      .quantity = quantity,
                                      .traffic = traffic,
                                      .method = method_of(step),
                                      .peer_access = peer_access(step),
                                      .value = value,
                                      .source = "preflight, " + step["method"].text()});
  }

  /// Flows of more than one pair at once say nothing of a single pair.
  void read_bandwidth(const JsonValue& step) {
    const auto flows = step["flows"].items();
    const auto& traffic = step["traffic"].text();
    const auto rate = [](const JsonValue& object, std::string_view key) {
      const auto value = object[key];
      return value.is_null() ? std::nullopt : std::optional(value.number());
    };
    constexpr auto quantity = MeasuredQuantity::bandwidth;
    if (traffic == "one_way" && flows.size() == 1)
      if (const auto value = rate(flows[0], "bandwidth_gb_per_s"))
        add(step, flows[0], MeasuredTraffic::one_way, quantity, *value);
    if (flows.size() > 1 && (traffic == "pairs" || traffic == "ring" || traffic == "all_to_all"))
      read_flows_at_once(step);
    if (traffic != "both_ways" || flows.size() != 2) return;
    for (const auto& flow : flows)
      if (const auto value = rate(flow, "bandwidth_gb_per_s"))
        add(step, flow, MeasuredTraffic::opposed, quantity, *value);
    if (const auto value = rate(step, "total_bandwidth_gb_per_s"))
      add(step, flows[0], MeasuredTraffic::both_ways, quantity, *value);
  }

  void read_flows_at_once(const JsonValue& step) {
    PreflightReport::AtOnce at_once{
        .traffic = step["traffic"].text(), .peer_access = peer_access(step), .flows = {}};
    for (const auto& flow : step["flows"].items())
      if (const auto rate = flow["bandwidth_gb_per_s"]; !rate.is_null())
        at_once.flows.push_back({.from = end_of_flow(flow["source"]),
                                 .to = end_of_flow(flow["destination"]),
                                 .gb_per_s = rate.number()});
    report_.at_once.push_back(std::move(at_once));
  }

  /// What a link comes to while it is busy, which is what it can do with its slot.
  void note_link_under_load(const JsonValue& step) {
    const auto generation = pcie_generation(text_or_empty(step, "pcie_link_speed_under_load"));
    const auto width = whole(step, "pcie_link_width_under_load", 64);
    const auto flows = step["flows"].items();
    if ((!generation && !width) || flows.size() != 1) return;
    const int number =
        std::max(end_of_flow(flows[0]["source"]), end_of_flow(flows[0]["destination"]));
    for (auto& each : report_.devices) {
      if (each.device.number != number) continue;
      if (generation) each.link.generation["Max"] = *generation;
      if (width) each.link.width["Current"] = *width;
    }
  }

  void read_latency(const JsonValue& step) {
    const auto value = step["latency_us"];
    if (!value.is_null())
      add(step, step, MeasuredTraffic::one_way, MeasuredQuantity::latency, value.number());
  }

  void read_finding(const JsonValue& finding) {
    report_.measured.faults.push_back({.from = end_if_known(finding["source"]),
                                       .to = end_if_known(finding["destination"]),
                                       .peer_access = peer_access(finding),
                                       .kind = finding["kind"].text(),
                                       .text = finding["text"].text()});
  }

  PreflightReport& report_;
};

PreflightReport read_report(const JsonValue& root) {
  if (root["ringside_preflight"].integer() != 1)
    root["ringside_preflight"].fail("only version 1 of the format is known");
  PreflightReport report;
  report.is_virtual = root["virtual_devices"].boolean();
  report.okay = root["okay"].boolean();
  report.host_name = text_or_empty(root, "host_name");
  report.start_time = text_or_empty(root, "start_time");
  (void)root["devices"].size(0, static_cast<std::size_t>(most_devices));
  for (const auto& device : root["devices"].items()) report.devices.push_back(read_device(device));
  for (const auto& peer : root["peers"].items())
    report.peers.push_back({.device = static_cast<int>(peer["device"].integer(0, most_devices)),
                            .peer = static_cast<int>(peer["peer"].integer(0, most_devices)),
                            .can_access = peer["can_access"].boolean()});
  MeasurementReader(report).read(root);
  return report;
}

}  // namespace

std::vector<Reading> read_preflight_report(const Text& text) {
  std::vector<Reading> readings;
  for (const auto& section : json_sections(text, "\"ringside_preflight\"")) {
    const JsonDocument document(section.json, "preflight", report_limits);
    if (!document.root().find("ringside_preflight")) continue;  // inside of something else
    auto report = read_report(document.root());
    std::vector<Finding> findings;
    if (report.is_virtual)
      findings.push_back({Severity::note, section.first_line,
                          "virtual devices of a test: nothing was measured on them"});
    for (const auto& fault : report.measured.faults)
      findings.push_back({Severity::warning, section.first_line, fault.text});
    readings.push_back(Reading{.reader = "Ringside's preflight",
                               .source = {},
                               .first_line = section.first_line,
                               .last_line = section.last_line,
                               .facts = std::move(report),
                               .findings = std::move(findings)});
  }
  return readings;
}

}  // namespace ringside
