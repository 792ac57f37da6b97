// SPDX-License-Identifier: MIT
#include "ringside/bench/preflight/json.hpp"

#include "ringside/base/json_write.hpp"

namespace ringside::bench::preflight {
namespace {

constexpr double giga = 1e9, micro = 1e-6;

Json end_of_flow(int device) { return device == host ? Json("host") : Json(device); }

/// Which step it was: the first keys of every entry.
Json step_keys(const Step& step) {
  return {{"traffic", to_string(step.traffic)},
          {"method", to_string(step.method)},
          {"peer_access", access_words(step).empty() ? Json(nullptr) : Json(step.peer_access)}};
}

Json flow_keys(const Flow& flow) {
  return {{"source", end_of_flow(flow.source)}, {"destination", end_of_flow(flow.destination)}};
}

void add_ending(Json& json, const Outcome& outcome) {
  json["ending"] = to_string(outcome.ending);
  json["reason"] = outcome.text.empty() ? Json(nullptr) : Json(outcome.text);
}

Json check(const Result& result) {
  const auto& [step, outcome] = result;
  Json json = step_keys(step);
  json["bytes"] = step.bytes;
  json["flows"] = Json::array();
  for (std::size_t i = 0; i < step.flows.size(); ++i) {
    Json flow = flow_keys(step.flows[i]);
    if (i < outcome.verdicts.size()) {
      const auto& verdict = outcome.verdicts[i];
      const bool right = verdict.arrival == Arrival::right;
      flow["arrival"] = to_string(verdict.arrival);
      flow["wrong_words"] = verdict.wrong_words;
      flow["wrong_guard_words"] = verdict.wrong_guard_words;
      flow["first_wrong_byte"] = right ? Json(nullptr) : Json(verdict.first_wrong_byte);
      flow["offset_bytes"] =
          verdict.arrival == Arrival::offset ? Json(verdict.offset_bytes) : Json(nullptr);
    } else {
      for (const auto* key :
           {"arrival", "wrong_words", "wrong_guard_words", "first_wrong_byte", "offset_bytes"})
        flow[key] = nullptr;
    }
    json["flows"].push_back(std::move(flow));
  }
  add_ending(json, outcome);
  return json;
}

Json latency(const Result& result) {
  const auto& [step, outcome] = result;
  const bool measured = !outcome.times.empty();
  Json json = flow_keys(step.flows.front());
  json.update(step_keys(step));
  json["bytes"] = step.bytes;
  json["latency_us"] = measured ? Json(outcome.times.front().count() / micro) : Json(nullptr);
  json["samples"] = outcome.samples;
  add_ending(json, outcome);
  return json;
}

Json bandwidth(const Result& result) {
  const auto& [step, outcome] = result;
  const bool measured = !outcome.times.empty();
  Json json = step_keys(step);
  json["bytes"] = measured ? outcome.bytes : step.bytes;
  json["total_bandwidth_gb_per_s"] = measured ? Json(total_rate(result) / giga) : Json(nullptr);
  json["flows"] = Json::array();
  for (std::size_t i = 0; i < step.flows.size(); ++i) {
    Json flow = flow_keys(step.flows[i]);
    flow["bandwidth_gb_per_s"] =
        measured ? Json(rate(outcome.bytes, outcome.times[i]) / giga) : Json(nullptr);
    json["flows"].push_back(std::move(flow));
  }
  json["pcie_link_speed_under_load"] =
      outcome.link.speed ? Json(*outcome.link.speed) : Json(nullptr);
  json["pcie_link_width_under_load"] =
      outcome.link.width ? Json(*outcome.link.width) : Json(nullptr);
  json["samples"] = outcome.samples;
  add_ending(json, outcome);
  return json;
}

Json finding(const Finding& finding) {
  Json json = {{"kind", finding.kind}};
  json["source"] = finding.flow ? end_of_flow(finding.flow->source) : Json(nullptr);
  json["destination"] = finding.flow ? end_of_flow(finding.flow->destination) : Json(nullptr);
  if (finding.step)
    json.update(step_keys(*finding.step));
  else
    json.update({{"traffic", nullptr}, {"method", nullptr}, {"peer_access", nullptr}});
  json["device"] = finding.device ? Json(*finding.device) : Json(nullptr);
  json["text"] = finding.text;
  return json;
}

}  // namespace

std::string json_of(const Report& report) {
  const bool no_times = is_virtual(report.facts);
  const auto findings = findings_of(report);
  Json json = {{"ringside_preflight", 1},
               {"source", no_times ? "virtual" : "measured"},
               {"virtual_devices", no_times},
               {"host_name", report.host_name},
               {"start_time", report.start_time},
               {"elapsed_s", no_times ? Json(nullptr) : Json(report.elapsed.count())},
               {"quick", report.request.quick},
               {"total_limit_s", report.request.total.count()},
               {"step_limit_s", report.request.step.count()}};
  json.update(to_json(report.facts));
  Json checks = Json::array(), latencies = Json::array(), bandwidths = Json::array();
  for (const auto& result : report.results) switch (result.step.quantity) {
      case Quantity::check:
        checks.push_back(check(result));
        break;
      case Quantity::latency:
        latencies.push_back(latency(result));
        break;
      case Quantity::bandwidth:
        bandwidths.push_back(bandwidth(result));
        break;
    }
  json["checks"] = std::move(checks);
  json["latencies"] = std::move(latencies);
  json["bandwidths"] = std::move(bandwidths);
  json["findings"] = Json::array();
  for (const auto& one : findings) json["findings"].push_back(finding(one));
  json["okay"] = findings.empty();
  return dump_json(json);
}

}  // namespace ringside::bench::preflight
