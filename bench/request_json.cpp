// SPDX-License-Identifier: MIT
#include "ringside/bench/request_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/competitors.hpp"
#include "ringside/collectives/spec.hpp"

namespace ringside::bench {
namespace {

// As many as the command line takes, or more than anybody waits for.
constexpr std::int64_t most_ranks = 256;
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;
constexpr std::int64_t most_calls = 1'000'000'000;
constexpr std::int64_t most_rounds = 1'000'000;
constexpr std::size_t most_items = 10'000;

template <class T>
Json names(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T value : values) list.push_back(to_string(value));
  return list;
}

template <class T, class Parse>
std::vector<T> read_names(const JsonValue& list, Parse parse) {
  (void)list.size(1, most_items);
  std::vector<T> values;
  for (const auto& item : list.items()) {
    const auto value = parse(item.text());
    if (!value) item.fail(fmt::format("{} is not known", quote(item.text())));
    values.push_back(*value);
  }
  return values;
}

std::vector<std::string> read_specs(const JsonValue& list) {
  (void)list.size(0, most_items);
  std::vector<std::string> specs;
  for (const auto& item : list.items()) {
    try {
      (void)parse_spec(item.text());
    } catch (const Error& error) {
      item.fail(error.what());
    }
    specs.push_back(item.text());
  }
  return specs;
}

std::uint64_t size_of_value(const JsonValue& value) {
  return static_cast<std::uint64_t>(value.integer(0, most_bytes));
}

Seconds read_time(const JsonValue& value) {
  const double seconds = value.number();
  if (!(seconds > 0 && seconds < 1e6)) value.fail("expected seconds above 0 and below 1e6");
  return Seconds{seconds};
}

/// Some of the words, each once.
std::vector<std::string> read_words(const JsonValue& list,
                                    std::initializer_list<std::string_view> words) {
  (void)list.size(1, words.size());
  std::vector<std::string> read;
  for (const auto& item : list.items()) {
    (void)item.choice(words);
    if (std::find(read.begin(), read.end(), item.text()) != read.end())
      item.fail("it is there twice");
    read.push_back(item.text());
  }
  return read;
}

/// Runs of the host say nothing of all this.
void read_backend(const JsonValue& backend, const JsonValue& value, BenchRequest& request) {
  request.backend = backend_kinds.at(backend.choice({"host", "cuda", "nccl", "mpi", "openmpi"}));
  if (runs_on_processes(request.backend)) request.shared_memory = value["shared_memory"].boolean();
  if (runs_on_gpus(request.backend) || value.find("devices")) {
    (void)value["devices"].size(1, most_items);
    for (const auto& item : value["devices"].items())
      request.gpus.devices.push_back(static_cast<int>(item.integer(0, most_ranks - 1)));
  }
  if (!runs_on_gpus(request.backend)) return;
  request.gpus.issue = read_words(value["issue"], {"streams", "graphs"});
  request.gpus.copies = read_words(value["copies"], {"auto", "engine", "kernel"});
}

}  // namespace

Json request_to_json(const BenchRequest& request) {
  Json json = {{"collectives", names(request.collectives)},
               {"algorithms", request.algorithms},
               {"ranks", request.ranks},
               {"root", request.root},
               {"begin", request.sizes.begin},
               {"end", request.sizes.end},
               {"factor", request.sizes.factor},
               {"step", request.sizes.step},
               {"exact_counts", request.exact_counts},
               {"types", names(request.types)},
               {"ops", names(request.ops)},
               {"out_of_place", request.measured[0]},
               {"in_place", request.measured[1]},
               {"iterations", request.iterations ? Json(*request.iterations) : Json(nullptr)},
               {"time_s", request.time.count()},
               {"warmup", request.warmup},
               {"rounds", request.rounds},
               {"spread", request.spread},
               {"check", request.check},
               {"pin", request.pin},
               {"compare", request.compare},
               {"watch", request.watch},
               {"buffers", to_string(request.buffers)},
               {"cold_bytes", request.cold_bytes ? Json(*request.cold_bytes) : Json(nullptr)}};
  if (request.backend == BackendKind::host) return json;
  json["backend"] = to_string(request.backend);
  if (runs_on_processes(request.backend)) json["shared_memory"] = request.shared_memory;
  if (!request.gpus.devices.empty()) json["devices"] = request.gpus.devices;
  if (!runs_on_gpus(request.backend)) return json;
  json["issue"] = request.gpus.issue;
  json["copies"] = request.gpus.copies;
  return json;
}

BenchRequest request_from_json(const JsonValue& value) {
  value.only({"collectives", "algorithms",   "ranks",    "root",         "begin",
              "end",         "factor",       "step",     "exact_counts", "types",
              "ops",         "out_of_place", "in_place", "iterations",   "time_s",
              "warmup",      "rounds",       "spread",   "check",        "pin",
              "buffers",     "cold_bytes",   "compare",  "watch",        "backend",
              "devices",     "issue",        "copies",   "shared_memory"});
  BenchRequest request;
  request.collectives = read_names<Operation>(value["collectives"], parse_operation);
  request.algorithms = read_specs(value["algorithms"]);
  (void)value["ranks"].size(1, most_items);
  request.ranks.clear();
  for (const auto& item : value["ranks"].items())
    request.ranks.push_back(static_cast<int>(item.integer(1, most_ranks)));
  request.root = static_cast<int>(value["root"].integer(0, most_ranks - 1));
  request.exact_counts = value["exact_counts"].boolean();
  request.sizes = {.begin = size_of_value(value["begin"]),
                   .end = size_of_value(value["end"]),
                   .factor = size_of_value(value["factor"]),
                   .step = size_of_value(value["step"])};
  request.types = read_names<ElementType>(value["types"], parse_element_type);
  request.ops = read_names<ReduceOp>(value["ops"], parse_reduce_op);
  request.measured = {value["out_of_place"].boolean(), value["in_place"].boolean()};
  if (!request.measured[0] && !request.measured[1]) value.fail("neither placement is measured");
  if (!value["iterations"].is_null())
    request.iterations = value["iterations"].integer(1, most_calls);
  request.time = read_time(value["time_s"]);
  request.warmup = static_cast<int>(value["warmup"].integer(0, most_rounds));
  request.rounds = static_cast<int>(value["rounds"].integer(1, most_rounds));
  request.spread = value["spread"].boolean();
  request.check = value["check"].boolean();
  request.pin = value["pin"].boolean();
  (void)value["compare"].size(0, most_items);
  for (const auto& item : value["compare"].items()) try {
      for (auto& name : parse_competitors(item.text())) request.compare.push_back(std::move(name));
    } catch (const Error& error) {
      item.fail(error.what());
    }
  request.watch = value["watch"].boolean();
  request.buffers = all_buffers.at(value["buffers"].choice({"warm", "cold", "rewritten"}));
  if (!value["cold_bytes"].is_null()) request.cold_bytes = size_of_value(value["cold_bytes"]);
  if (const auto backend = value.find("backend")) read_backend(*backend, value, request);
  return request;
}

}  // namespace ringside::bench
