// SPDX-License-Identifier: MIT
#include "ringside/bench/json_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ringside/base/json_write.hpp"
#include "ringside/bench/comparison.hpp"
#include "ringside/bench/request_json.hpp"
#include "ringside/bench/summary.hpp"

namespace ringside::bench {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json devices(const Report& report) {
  Json list = Json::array();
  const auto& ranks = report.request.ranks;
  for (int rank = 0; rank < *std::max_element(ranks.begin(), ranks.end()); ++rank) {
    const Process process = process_of(report, rank);
    list.push_back({{"rank", rank},
                    {"group", 0},
                    {"pid", process.number},
                    {"hostname", process.host},
                    {"device", 0},
                    {"device_hex", "0000:00:00"},
                    {"device_info", process.processor}});
  }
  if (!report.gpus) return list;
  for (int rank = 0; auto& entry : list) {
    const Gpu& gpu = report.gpus->of(report.request.gpus.device_of(rank++));
    entry["device"] = gpu.number;
    entry["device_hex"] = gpu.pci_bus_id;
    entry["device_info"] = gpu.name;
  }
  return list;
}

Json config(const Report& report) {
  const auto& request = report.request;
  const auto& ranks = request.ranks;
  Json config = {{"nthreads", *std::max_element(ranks.begin(), ranks.end())},
                 {"ngpus", 1},  // of a thread
                 {"ranks", ranks},
                 {"backend", to_string(request.backend)},
                 {"minimum_bytes", request.sizes.begin},
                 {"maximum_bytes", request.sizes.end}};
  if (request.sizes.factor > 1)
    config["step_factor"] = request.sizes.factor;
  else
    config["step_bytes"] = request.sizes.step;
  config["warmup_iters"] = request.warmup;
  config["iterations"] = or_null(request.iterations);
  config["time_s"] = request.iterations ? Json(nullptr) : Json(request.time.count());
  config["rounds"] = rounds_of(request);
  config["pinned"] = request.pin;
  config["buffers"] = to_string(request.buffers);
  config["compared"] = request.compare;
  config["exact_counts"] = request.exact_counts;
  config["options"] = Json::array();
  for (const auto& [name, value] : report.options)
    config["options"].push_back(Json::array({name, value}));
  config["root"] = request.root;
  config["aggregated_iterations"] = 1;
  config["validation"] = request.check ? 1 : 0;
  if (report.processes)
    config["processes"] = {{"library", report.processes->library},
                           {"hosts", report.processes->hosts},
                           {"cores", report.processes->cores}};
  if (report.gpus) {
    config["timing"] = report.nothing_measured() ? Json(nullptr) : Json("GPU events");
    config["issue"] = request.gpus.issue;
    config["copies"] = request.gpus.copies;
  }
  config["graph"] = report.gpus && request.gpus.issue == std::vector<std::string>{"graphs"} ? 1 : 0;
  config["blocking_collectives"] = false;
  config["per_iter_timing"] = false;
  config["parallel_init"] = false;
  config["devices"] = devices(report);
  return config;
}

Json machine(const Machine& machine) {
  return {{"processor", machine.processor},
          {"cores", machine.cores},
          {"allowed_cores", machine.allowed_cores},
          {"memory_bytes", machine.memory},
          {"kernel", machine.kernel},
          {"compiler", machine.compiler},
          {"reduction_kernels", machine.kernels},
          {"version", machine.version},
          {"source_commit", machine.source_commit}};
}

Json gpus(const Gpus& gpus) {
  Json list = Json::array();
  for (const auto& gpu : gpus.list)
    list.push_back({{"number", gpu.number},
                    {"name", gpu.name},
                    {"pci_bus_id", gpu.pci_bus_id},
                    {"memory_bytes", gpu.memory}});
  return {{"list", std::move(list)},
          {"driver", gpus.driver},
          {"runtime", gpus.runtime},
          {"nccl", gpus.nccl.empty() ? Json(nullptr) : Json(gpus.nccl)},
          {"virtual", gpus.are_virtual}};
}

Json timing(const Series& series, const Row& row, const std::optional<Timing>& measured) {
  if (!measured) return nullptr;
  const auto& check = measured->check;
  Json json = {{"time", measured->time},
               {"alg_bw", algorithm_bandwidth(row.bytes, measured->time)},
               {"bus_bw", bus_bandwidth(series, row, *measured)},
               {"nwrong", check ? Json(check->wrong) : Json(nullptr)},
               {"median_us", measured->median},
               {"min_us", measured->minimum},
               {"p95_us", measured->p95},
               {"skew_us", measured->skew},
               {"round_times_us", measured->round_times},
               {"round_medians_us", measured->round_medians},
               {"iterations", measured->iterations},
               {"calls_per_sample", measured->calls_per_sample}};
  if (measured->issue_time) json["issue_us"] = *measured->issue_time;
  if (!measured->spec.empty()) json["algorithm"] = measured->spec;
  if (!measured->round_facts.empty()) {
    Json probes = Json::array();
    Json foreign = Json::array();
    for (const auto& facts : measured->round_facts) {
      probes.push_back({facts.probe_before_ns, facts.probe_after_ns});
      foreign.push_back(facts.foreign_cpu);
    }
    json["round_probes_ns"] = std::move(probes);
    json["round_foreign_cpu"] = std::move(foreign);
  }
  if (check)
    json["checked"] = {{"exact_bytes_per_rank", check->exact_bytes},
                       {"reference_bytes_per_rank", check->reference_bytes},
                       {"failed_ranks", check->failed_ranks}};
  return json;
}

Json results(const Report& report) {
  Json list = Json::array();
  for (const auto& series : report.series)
    for (const auto& row : series.rows) {
      const auto& any = row.timings[0] ? row.timings[0] : row.timings[1];
      list.push_back({{"collective", to_string(series.collective)},
                      {"algorithm", series.label},
                      {"ranks", series.ranks},
                      {"kind", report.kind()},
                      {"asked_size", row.asked},
                      {"size", row.bytes},
                      {"count", row.count},
                      {"type", nccl_tests_name(row.type)},
                      {"redop", redop_name(series.collective, row.op)},
                      {"root", root_column(series.collective, series.root)},
                      {"out_of_place", timing(series, row, row.at(Placement::out_of_place))},
                      {"in_place", timing(series, row, row.at(Placement::in_place))},
                      {"actual_iterations", any ? any->iterations : 0}});
    }
  return list;
}

Json algorithms(const Report& report) {
  Json list = Json::array();
  for (const auto& series : report.series) {
    Json json = {{"collective", to_string(series.collective)},
                 {"algorithm", series.label},
                 {"ranks", series.ranks},
                 {"library", series.detail.empty() ? Json("ringside") : Json(series.detail)},
                 {"average_bus_bandwidth", average_bus_bandwidth(series)}};
    if (!series.issue.empty()) {
      json["spec"] = series.spec;
      json["issue"] = series.issue;
      json["copies"] = series.copies.empty() ? Json(nullptr) : Json(series.copies);
    }
    if (series.facts)
      json["counted_from_plan"] = {{"steps", series.facts->steps},
                                   {"ops", series.facts->ops},
                                   {"busiest_rank_sends_per_byte", series.facts->busiest_sent},
                                   {"memory_traffic_per_byte", series.facts->memory_traffic}};
    list.push_back(std::move(json));
  }
  return list;
}

Json ratios(const Report& report) {
  Json list = Json::array();
  for (const auto& contest : contests(report)) {
    for (const auto& peer : contest.peers)
      for (const auto& [series, measured] : contest.ours)
        list.push_back(
            {{"collective", to_string(contest.collective)},
             {"algorithm", series->label},
             {"peer", peer.series->label},
             {"ranks", contest.ranks},
             {"placement", contest.placement == Placement::in_place ? "in_place" : "out_of_place"},
             {"type", nccl_tests_name(contest.type)},
             {"redop", redop_name(contest.collective, contest.op)},
             {"size", contest.bytes},
             {"peer_time_over_ours", speedup(*measured, *peer.timing)},
             {"fastest_of_ours", series == contest.ours.front().series}});
  }
  return list;
}

/// A field of CSV: in quotes if it has a comma or a quote in it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

/// Empty for what was not measured.
std::string csv_number(double value) {
  return std::isnan(value) ? std::string() : fmt::format("{}", value);
}

}  // namespace

std::string json_report(const Report& report, bool with_summary) {
  std::uint64_t failed = 0;
  double bandwidth = 0;
  std::size_t timed = 0;
  for (const auto& series : report.series) {
    failed += failed_checks(series);
    bandwidth += average_bus_bandwidth(series);
    ++timed;
  }
  Json skipped = Json::array();
  for (const auto& [label, ranks, reason, collective] : report.skipped)
    skipped.push_back({{"collective", to_string(collective)},
                       {"algorithm", label},
                       {"ranks", ranks},
                       {"reason", reason}});
  Json collectives = Json::array();
  for (const auto collective : report.request.collectives)
    collectives.push_back(to_string(collective));
  Json json = {{"ringside_bench", 1},
               {"kind", report.kind()},
               {"collectives", std::move(collectives)},
               {"start_time", report.start_time},
               {"machine", machine(report.machine)},
               {"config", config(report)},
               {"request", request_to_json(report.request)},
               {"algorithms", algorithms(report)},
               {"results", results(report)},
               {"skipped", std::move(skipped)},
               {"out_of_bounds", {{"count", failed}, {"okay", failed == 0}}},
               {"average_bus_bandwidth",
                {{"bandwidth", timed == 0 ? 0.0 : bandwidth / static_cast<double>(timed)},
                 {"okay", "unchecked"}}},
               {"errors", Json::array()}};
  if (report.gpus) json["gpus"] = gpus(*report.gpus);
  if (!report.request.compare.empty()) {
    json["ratios"] = ratios(report);
    json["ratios_note"] =
        report.gpus ? "medians of same-round ratios of times between GPU events"
                    : "medians of same-round ratios; other libraries' ranks are mostly processes "
                      "and ours threads, which is not like for like";
  }
  if (with_summary) json["summary"] = summary(report);
  json["end_time"] = report.end_time;
  return dump_json(json);
}

std::string csv_report(const Report& report) {
  std::string text =
      "kind,collective,algorithm,ranks,type,redop,root,size,count,placement,buffers,time_us,"
      "algbw_GBps,busbw_GBps,nwrong,median_us,min_us,p95_us,skew_us,iterations,calls_per_sample,"
      "ran,issue_us\n";
  for (const auto& series : report.series)
    for (const auto& row : series.rows)
      for (const auto placement : placements) {
        const auto& timing = row.at(placement);
        if (!timing) continue;
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", report.kind(),
            to_string(series.collective), csv_field(series.label), series.ranks,
            nccl_tests_name(row.type), redop_name(series.collective, row.op),
            root_column(series.collective, series.root), row.bytes, row.count,
            placement == Placement::in_place ? "in_place" : "out_of_place",
            to_string(report.request.buffers), csv_number(timing->time),
            csv_number(algorithm_bandwidth(row.bytes, timing->time)),
            csv_number(bus_bandwidth(series, row, *timing)),
            timing->check ? std::to_string(timing->check->wrong) : "", csv_number(timing->median),
            csv_number(timing->minimum), csv_number(timing->p95), csv_number(timing->skew),
            timing->iterations, timing->calls_per_sample, csv_field(timing->spec),
            timing->issue_time ? csv_number(*timing->issue_time) : "");
      }
  return text;
}

}  // namespace ringside::bench
