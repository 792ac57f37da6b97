// SPDX-License-Identifier: MIT
/// What readings tell of runs and measurements, as JSON.
#include "ringside/topology/readers/fact_values.hpp"

#include <algorithm>

namespace ringside {
namespace {

Json values_json(const PairMatrix& matrix) {
  Json rows = Json::array();
  for (const auto& row : matrix.values) {
    Json cells = Json::array();
    for (const auto& cell : row) cells.push_back(cell ? Json(*cell) : Json(nullptr));
    rows.push_back(std::move(cells));
  }
  return rows;
}

Json timing_json(const CollectiveTiming& timing) {
  Json json = {{"time_us", timing.time_us}, {"algbw", timing.algbw}, {"busbw", timing.busbw}};
  if (!timing.check.empty()) json["check"] = timing.check;
  return json;
}

Json row_json(const CollectiveRow& row) {
  Json json = {{"size", row.size}};
  if (row.count) json["count"] = *row.count;
  if (row.out_of_place) json["out_of_place"] = timing_json(*row.out_of_place);
  if (row.in_place) json["in_place"] = timing_json(*row.in_place);
  return json;
}

Json payload_json(const CollectiveRows& facts) {
  Json rows = Json::array();
  for (const auto& row : facts.rows)
    rows.push_back({{"size", row.size},
                    {"busbw", row.out_of_place->busbw},
                    {"algbw", row.out_of_place->algbw}});
  return rows;
}

}  // namespace

Json log_json(const NcclLog& log) {
  Json json = Json::object();
  json["ranks"] = log.ranks ? Json(*log.ranks) : Json(nullptr);
  if (!log.version.empty()) json["nccl_version"] = log.version;
  if (log.channels) json["channels"] = *log.channels;
  for (const auto& [channel, ring] : log.rings) json["rings"][std::to_string(channel)] = ring;
  if (!log.transport_lines.empty()) json["transport_lines"] = log.transport_lines;
  for (const auto& [gpu, masks] : log.affinity_masks)
    json["affinity_masks"][std::to_string(gpu)] = masks;
  if (!log.environment.empty()) json["environment"] = log.environment;
  json["warnings"] = log.warnings.size();
  json["truncated"] = log.truncated;
  return json;
}

Json peer_bandwidth_json(const PeerBandwidthTest& test) {
  Json json = {{"gpus", test.listed_devices},
               {"listed_devices", test.listed_devices},
               {"can_access_lines", test.can_access_lines},
               {"cannot_access_lines", test.cannot_access_lines},
               {"matrices", Json::array()},
               {"truncated", test.truncated}};
  for (const auto& matrix : test.matrices) {
    json["gpus"] = std::max(json["gpus"].get<int>(), matrix.columns);
    Json each = {{"title", matrix.title ? Json(*matrix.title) : Json(nullptr)},
                 {"cols", matrix.columns},
                 {"values", values_json(matrix)}};
    if (!matrix.complete()) each["row_ids"] = matrix.row_ids, each["complete"] = false;
    if (matrix.partial_rows > 0) each["partial_rows"] = matrix.partial_rows;
    json["matrices"].push_back(std::move(each));
  }
  return json;
}

Json nvbandwidth_json(const NvBandwidth& facts) {
  Json json = {{"gpus", 0}, {"tests", Json::array()}, {"truncated", facts.truncated}};
  for (const auto& test : facts.tests) {
    json["gpus"] = std::max(json["gpus"].get<int>(), test.columns);
    json["tests"].push_back({{"test", test.title.value_or("")},
                             {"rows", test.values.size()},
                             {"values", values_json(test)},
                             {"sum", test.sum ? Json(*test.sum) : Json(nullptr)}});
  }
  return json;
}

Json collective_json(const CollectiveRows& facts) {
  Json json = Json::object();
  json["ranks"] = facts.ranks ? Json(*facts.ranks) : Json(nullptr);
  json["collective"] = facts.collective ? Json(*facts.collective) : Json(nullptr);
  if (facts.payload_table) {
    json["rows"] = payload_json(facts);
    return json;
  }
  if (facts.algorithm) json["algorithm"] = *facts.algorithm;
  json["fields_per_row"] = facts.rows.front().fields;
  json["complete_rows"] = facts.rows.size();
  json["type"] = facts.rows.front().type.empty() ? Json(nullptr) : Json(facts.rows.front().type);
  json["first_size"] = facts.rows.front().size;
  json["last"] = row_json(facts.rows.back());
  const CollectiveRow* best = nullptr;
  for (const auto& row : facts.rows)
    if (row.out_of_place &&
        (best == nullptr || row.out_of_place->busbw > best->out_of_place->busbw))
      best = &row;
  if (best != nullptr) {
    json["max_busbw_out_of_place"] = best->out_of_place->busbw;
    json["max_busbw_at_size"] = best->size;
  }
  json["listed_ranks"] = facts.listed_ranks;
  if (facts.threads && facts.gpus && facts.min_bytes && facts.max_bytes)
    json["parameters"] = {{"nthread", *facts.threads},
                          {"ngpus", *facts.gpus},
                          {"min", *facts.min_bytes},
                          {"max", *facts.max_bytes}};
  if (facts.average_busbw) json["avg_busbw"] = *facts.average_busbw;
  if (facts.out_of_bounds) json["out_of_bounds"] = *facts.out_of_bounds;
  json["truncated"] = facts.truncated;
  json["has_incomplete_rows"] = facts.has_incomplete_rows;
  if (facts.runs_interleaved) json["two_runs_interleaved"] = true;
  return json;
}

Json measured_json(const Measurements& measured) {
  const auto end_of = [](std::optional<int> number) {
    if (!number) return Json(nullptr);
    return *number == host_memory ? Json("host") : Json(gpu_name(*number));
  };
  const auto known = [](const std::optional<bool>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json json = {{"pairs", Json::array()}, {"faults", Json::array()}};
  for (const auto& each : measured.pairs)
    json["pairs"].push_back(
        {{"from", end_of(each.from)},
         {"to", end_of(each.to)},
         {"traffic", to_string(each.traffic)},
         {"method", to_string(each.method)},
         {"peer_access", known(each.peer_access)},
         {each.quantity == MeasuredQuantity::latency ? "latency_us" : "gb_per_s", each.value},
         {"source", each.source}});
  for (const auto& each : measured.faults)
    json["faults"].push_back({{"from", end_of(each.from)},
                              {"to", end_of(each.to)},
                              {"peer_access", known(each.peer_access)},
                              {"kind", each.kind},
                              {"text", each.text}});
  return json;
}

Json preflight_json(const PreflightReport& report) {
  Json json = {{"gpus", report.devices.size()},
               {"devices", Json::array()},
               {"peers", Json::array()},
               {"checks", report.checks},
               {"okay", report.okay},
               {"virtual_devices", report.is_virtual},
               {"measured", measured_json(report.measured)}};
  for (const auto& each : report.devices)
    json["devices"].push_back(
        {{"device", each.device.number},
         {"model", each.device.model},
         {"bus_id", each.device.address ? Json(to_string(*each.device.address)) : Json(nullptr)}});
  for (const auto& each : report.peers)
    json["peers"].push_back(
        {{"device", each.device}, {"peer", each.peer}, {"can_access", each.can_access}});
  return json;
}

}  // namespace ringside
