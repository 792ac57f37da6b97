// SPDX-License-Identifier: MIT
#include "ringside/bench/preflight/facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ringside::bench::preflight {
namespace {

constexpr int most_devices = 1024;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<int> optional_int(const JsonValue& value) {
  if (value.is_null()) return std::nullopt;
  return static_cast<int>(value.integer(-1'000'000'000, 1'000'000'000));
}

std::optional<std::string> optional_text(const JsonValue& value) {
  if (value.is_null()) return std::nullopt;
  return value.text();
}

Json to_json(const DeviceFacts& facts) {
  return {{"device", facts.device},
          {"name", facts.name},
          {"pci_bus_id", facts.pci_bus_id},
          {"compute_capability_major", facts.compute_major},
          {"compute_capability_minor", facts.compute_minor},
          {"memory_bytes", facts.memory_bytes},
          {"copy_engines", facts.copy_engines},
          {"numa_node", or_null(facts.numa_node)},
          {"pcie_link_speed_idle", or_null(facts.link.speed)},
          {"pcie_link_speed_most", or_null(facts.link_most.speed)},
          {"pcie_link_width", or_null(facts.link.width)},
          {"pcie_link_width_most", or_null(facts.link_most.width)}};
}

DeviceFacts device_from_json(const JsonValue& json) {
  DeviceFacts facts;
  facts.device = static_cast<int>(json["device"].integer(0, most_devices));
  facts.name = json["name"].text();
  facts.pci_bus_id = json["pci_bus_id"].text();
  facts.compute_major = static_cast<int>(json["compute_capability_major"].integer(0, 1000));
  facts.compute_minor = static_cast<int>(json["compute_capability_minor"].integer(0, 1000));
  facts.memory_bytes = static_cast<std::uint64_t>(json["memory_bytes"].integer(0));
  facts.copy_engines = static_cast<int>(json["copy_engines"].integer(0, 1000));
  facts.numa_node = optional_int(json["numa_node"]);
  facts.link.speed = optional_text(json["pcie_link_speed_idle"]);
  facts.link_most.speed = optional_text(json["pcie_link_speed_most"]);
  facts.link.width = optional_int(json["pcie_link_width"]);
  facts.link_most.width = optional_int(json["pcie_link_width_most"]);
  return facts;
}

Json to_json(const PeerFacts& facts) {
  return {{"device", facts.device},
          {"peer", facts.peer},
          {"can_access", facts.can_access},
          {"performance_rank", or_null(facts.performance_rank)},
          {"access_supported", or_null(facts.access_supported)},
          {"native_atomic_supported", or_null(facts.native_atomic_supported)},
          {"array_access_supported", or_null(facts.array_access_supported)}};
}

PeerFacts peer_from_json(const JsonValue& json) {
  return {.device = static_cast<int>(json["device"].integer(0, most_devices)),
          .peer = static_cast<int>(json["peer"].integer(0, most_devices)),
          .can_access = json["can_access"].boolean(),
          .performance_rank = optional_int(json["performance_rank"]),
          .access_supported = optional_int(json["access_supported"]),
          .native_atomic_supported = optional_int(json["native_atomic_supported"]),
          .array_access_supported = optional_int(json["array_access_supported"])};
}

}  // namespace

bool Facts::can_access(int device, int peer) const {
  return std::any_of(peers.begin(), peers.end(), [&](const PeerFacts& facts) {
    return facts.device == device && facts.peer == peer && facts.can_access;
  });
}

bool is_virtual(const Facts& facts) {
  return std::any_of(facts.devices.begin(), facts.devices.end(),
                     [](const DeviceFacts& device) { return device.name.starts_with("virtual"); });
}

std::string cuda_version(std::optional<int> version) {
  if (!version) return "unknown";
  return fmt::format("{}.{}", *version / 1000, *version % 1000 / 10);
}

Json to_json(const Facts& facts) {
  Json devices = Json::array(), peers = Json::array();
  for (const auto& device : facts.devices) devices.push_back(to_json(device));
  for (const auto& peer : facts.peers) peers.push_back(to_json(peer));
  return {{"cuda_driver_version", or_null(facts.driver_version)},
          {"cuda_runtime_version", or_null(facts.runtime_version)},
          {"allowed_cpus", facts.allowed_cpus.empty() ? Json(nullptr) : Json(facts.allowed_cpus)},
          {"devices", std::move(devices)},
          {"peers", std::move(peers)}};
}

Facts facts_from_json(const JsonValue& json) {
  Facts facts;
  facts.driver_version = optional_int(json["cuda_driver_version"]);
  facts.runtime_version = optional_int(json["cuda_runtime_version"]);
  facts.allowed_cpus = optional_text(json["allowed_cpus"]).value_or("");
  for (const auto& device : json["devices"].items())
    facts.devices.push_back(device_from_json(device));
  for (const auto& peer : json["peers"].items()) facts.peers.push_back(peer_from_json(peer));
  return facts;
}

}  // namespace ringside::bench::preflight
