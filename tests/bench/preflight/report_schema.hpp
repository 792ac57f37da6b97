// SPDX-License-Identifier: MIT
/// The JSON of a preflight, key by key, as docs/preflight.md says: anything missing, of another
/// type or not documented is an Error.
#pragma once

#include <string>

#include "ringside/base/json.hpp"

namespace ringside::tests {

namespace preflight_schema {

inline void number_or_null(const JsonValue& value) {
  if (!value.is_null()) (void)value.number();
}
inline void integer_or_null(const JsonValue& value) {
  if (!value.is_null()) (void)value.integer();
}
inline void text_or_null(const JsonValue& value) {
  if (!value.is_null()) (void)value.text();
}

inline void end_of_flow(const JsonValue& value) {
  if (value.is_string())
    (void)value.choice({"host"});
  else
    (void)value.integer(0, 1024);
}

inline void step_keys(const JsonValue& value) {
  (void)value["traffic"].choice(
      {"one_way", "both_ways", "pairs", "ring", "all_to_all", "all_devices"});
  (void)value["method"].choice({"peer_copy", "kernel_store", "kernel_load", "host_copy"});
  if (!value["peer_access"].is_null()) (void)value["peer_access"].boolean();
}

inline void ending(const JsonValue& value) {
  (void)value["ending"].choice(
      {"done", "hang", "error", "blocked", "no_time", "no_memory", "no_device"});
  text_or_null(value["reason"]);
}

inline void device(const JsonValue& value) {
  value.only({"device", "name", "pci_bus_id", "compute_capability_major",
              "compute_capability_minor", "memory_bytes", "copy_engines", "numa_node",
              "pcie_link_speed_idle", "pcie_link_speed_most", "pcie_link_width",
              "pcie_link_width_most"});
  for (const auto* key : {"device", "compute_capability_major", "compute_capability_minor",
                          "memory_bytes", "copy_engines"})
    (void)value[key].integer(0);
  for (const auto* key : {"name", "pci_bus_id"}) (void)value[key].text();
  for (const auto* key : {"numa_node", "pcie_link_width", "pcie_link_width_most"})
    integer_or_null(value[key]);
  for (const auto* key : {"pcie_link_speed_idle", "pcie_link_speed_most"}) text_or_null(value[key]);
}

inline void peer(const JsonValue& value) {
  value.only({"device", "peer", "can_access", "performance_rank", "access_supported",
              "native_atomic_supported", "array_access_supported"});
  for (const auto* key : {"device", "peer"}) (void)value[key].integer(0, 1024);
  (void)value["can_access"].boolean();
  for (const auto* key : {"performance_rank", "access_supported", "native_atomic_supported",
                          "array_access_supported"})
    integer_or_null(value[key]);
}

inline void check(const JsonValue& value) {
  value.only({"traffic", "method", "peer_access", "bytes", "flows", "ending", "reason"});
  step_keys(value);
  ending(value);
  (void)value["bytes"].integer(1);
  (void)value["flows"].size(1);
  for (const auto& flow : value["flows"].items()) {
    flow.only({"source", "destination", "arrival", "wrong_words", "wrong_guard_words",
               "first_wrong_byte", "offset_bytes"});
    end_of_flow(flow["source"]);
    end_of_flow(flow["destination"]);
    if (!flow["arrival"].is_null())
      (void)flow["arrival"].choice(
          {"right", "lost", "partly_lost", "offset", "misplaced", "overrun", "corrupt"});
    for (const auto* key : {"wrong_words", "wrong_guard_words", "first_wrong_byte", "offset_bytes"})
      integer_or_null(flow[key]);
  }
}

inline void latency(const JsonValue& value) {
  value.only({"source", "destination", "traffic", "method", "peer_access", "bytes", "latency_us",
              "samples", "ending", "reason"});
  end_of_flow(value["source"]);
  end_of_flow(value["destination"]);
  step_keys(value);
  ending(value);
  (void)value["bytes"].integer(1);
  number_or_null(value["latency_us"]);
  (void)value["samples"].integer(0);
}

inline void bandwidth(const JsonValue& value) {
  value.only({"traffic", "method", "peer_access", "bytes", "total_bandwidth_gb_per_s", "flows",
              "pcie_link_speed_under_load", "pcie_link_width_under_load", "samples", "ending",
              "reason"});
  step_keys(value);
  ending(value);
  (void)value["bytes"].integer(1);
  number_or_null(value["total_bandwidth_gb_per_s"]);
  text_or_null(value["pcie_link_speed_under_load"]);
  integer_or_null(value["pcie_link_width_under_load"]);
  (void)value["samples"].integer(0);
  (void)value["flows"].size(1);
  for (const auto& flow : value["flows"].items()) {
    flow.only({"source", "destination", "bandwidth_gb_per_s"});
    end_of_flow(flow["source"]);
    end_of_flow(flow["destination"]);
    number_or_null(flow["bandwidth_gb_per_s"]);
  }
}

inline void finding(const JsonValue& value) {
  value.only(
      {"kind", "source", "destination", "traffic", "method", "peer_access", "device", "text"});
  (void)value["kind"].choice({"lost", "partly_lost", "offset", "misplaced", "overrun", "corrupt",
                              "hang", "error", "unfinished"});
  for (const auto* key : {"source", "destination"})
    if (!value[key].is_null()) end_of_flow(value[key]);
  for (const auto* key : {"traffic", "method"}) text_or_null(value[key]);
  if (!value["peer_access"].is_null()) (void)value["peer_access"].boolean();
  integer_or_null(value["device"]);
  (void)value["text"].text();
}

}  // namespace preflight_schema

/// Throws Error at the first key that is not as documented.
inline void expect_preflight_schema(const JsonValue& root) {
  namespace schema = preflight_schema;
  root.only({"ringside_preflight", "source", "virtual_devices", "host_name", "start_time",
             "elapsed_s", "quick", "total_limit_s", "step_limit_s", "cuda_driver_version",
             "cuda_runtime_version", "allowed_cpus", "devices", "peers", "checks", "latencies",
             "bandwidths", "findings", "okay"});
  (void)root["ringside_preflight"].integer(1, 1);
  (void)root["source"].choice({root["virtual_devices"].boolean() ? "virtual" : "measured"});
  for (const auto* key : {"virtual_devices", "quick", "okay"}) (void)root[key].boolean();
  for (const auto* key : {"host_name", "start_time"}) (void)root[key].text();
  schema::text_or_null(root["allowed_cpus"]);
  schema::number_or_null(root["elapsed_s"]);
  for (const auto* key : {"total_limit_s", "step_limit_s"}) (void)root[key].number();
  for (const auto* key : {"cuda_driver_version", "cuda_runtime_version"})
    schema::integer_or_null(root[key]);
  for (const auto& value : root["devices"].items()) schema::device(value);
  for (const auto& value : root["peers"].items()) schema::peer(value);
  for (const auto& value : root["checks"].items()) schema::check(value);
  for (const auto& value : root["latencies"].items()) schema::latency(value);
  for (const auto& value : root["bandwidths"].items()) schema::bandwidth(value);
  for (const auto& value : root["findings"].items()) schema::finding(value);
}

}  // namespace ringside::tests
