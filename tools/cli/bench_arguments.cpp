// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/bench_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/competitors.hpp"
#include "ringside/collectives/spec.hpp"

namespace ringside::cli {

using bench::BenchRequest;
using bench::Format;

namespace {

/// Of a run that is to be compared: with fewer, few rows are told from their noise.
constexpr int spread_rounds = 12;

std::vector<std::string> read_algorithms(const std::string& text) {
  if (text == "all") return {};
  if (text.empty()) reject("--algorithm", "spec strings or all", text);
  auto specs = split_specs(text);
  for (const auto& spec : specs) (void)parse_spec(spec);
  if (std::find(specs.begin(), specs.end(), "all") != specs.end())
    throw Error(ErrorCode::bad_input, "--algorithm: all stands alone");
  if (std::set<std::string>(specs.begin(), specs.end()).size() != specs.size())
    throw Error(ErrorCode::bad_input, "--algorithm: a spec is there twice");
  return specs;
}

std::vector<int> read_ranks(std::string_view option, const std::string& text) {
  constexpr int most = 256;  // threads of a World
  std::vector<int> ranks;
  for (const auto word : split(text, ',')) {
    const auto number = parse_int(word, 1, most);
    if (!number) reject(option, fmt::format("numbers from 1 to {}, as in 2,4", most), text);
    ranks.push_back(static_cast<int>(*number));
  }
  if (std::set<int>(ranks.begin(), ranks.end()).size() != ranks.size())
    reject(option, "every number once", text);
  return ranks;
}

/// A list of names, or all of them.
template <class T, class Parse, class All>
std::vector<T> read_names(std::string_view option, const std::string& text, Parse parse,
                          const All& all) {
  if (text == "all") return {all.begin(), all.end()};
  std::vector<std::string_view> known = {"all"};
  for (const T value : all) known.push_back(to_string(value));
  std::vector<T> values;
  for (const auto word : split(text, ',')) {
    if (word == "all")
      throw Error(ErrorCode::bad_input, fmt::format("{}: all stands alone", option));
    const auto value = parse(word);
    if (!value)
      throw Error(ErrorCode::bad_input,
                  fmt::format("{}: expected one of {}, got {}{}", option, fmt::join(known, ", "),
                              quote(word), did_you_mean(word, known)));
    if (std::find(values.begin(), values.end(), *value) != values.end())
      reject(option, "every one once", text);
    values.push_back(*value);
  }
  return values;
}

/// Sizes beyond any memory are refused before anybody multiplies with them.
std::uint64_t bytes_of(std::string_view option, const std::string& text) {
  constexpr std::uint64_t most = std::uint64_t{1} << 50;
  const auto bytes = size_in_bytes(option, text);
  if (bytes > most) reject(option, "at most 1024T", text);
  return bytes;
}

bench::SizeRange read_sizes(const BenchArguments& arguments) {
  constexpr std::int64_t largest_factor = std::int64_t{1} << 40;
  bench::SizeRange sizes;
  sizes.begin = bytes_of("--begin", arguments.begin);
  sizes.end = bytes_of("--end", arguments.end);
  sizes.factor =
      static_cast<std::uint64_t>(whole_number("--factor", arguments.factor, 0, largest_factor));
  if (arguments.step.empty()) return sizes;
  sizes.step = bytes_of("--step", arguments.step);
  if (sizes.step == 0) reject("--step", "at least one byte", arguments.step);
  return sizes;
}

Seconds read_duration(std::string_view option, const std::string& text) {
  return positive_time(option, text, "a time such as 0.05, 20ms or 2s");
}

/// "warm", "rewritten", "cold" or "cold:64M".
void read_buffers(const std::string& text, BenchRequest& request) {
  const auto colon = text.find(':');
  const auto word = std::string_view(text).substr(0, colon);
  const auto known = std::find_if(bench::all_buffers.begin(), bench::all_buffers.end(),
                                  [&](bench::Buffers one) { return to_string(one) == word; });
  const bool has_size = colon != std::string::npos;
  if (known == bench::all_buffers.end() || (has_size && *known != bench::Buffers::cold))
    reject("--buffers", "warm, cold, cold:SIZE or rewritten", text);
  request.buffers = *known;
  if (!has_size) return;
  request.cold_bytes = bytes_of("--buffers cold", text.substr(colon + 1));
  if (*request.cold_bytes == 0) reject("--buffers", "at least one byte of cold buffers", text);
}

std::vector<bench::Operation> read_operations(const std::string& text) {
  return read_names<bench::Operation>("--collective", text, bench::parse_operation,
                                      bench::all_operations());
}

/// With less, sound devices would be told to hang: opening one takes seconds where the persistence
/// mode is off (and gets four times a step's limit).
constexpr Seconds least_preflight_limit{1.0};

Seconds read_preflight_limit(std::string_view option, const std::string& text) {
  const auto time = read_duration(option, text);
  if (time < least_preflight_limit)
    reject(option,
           fmt::format("{} at least with --preflight", format_duration(least_preflight_limit)),
           text);
  return time;
}

}  // namespace

bool is_run_file(const std::string& compared) { return compared.ends_with(".json"); }

BenchRequest read_request(const BenchArguments& arguments, const Given& given) {
  constexpr std::int64_t most_calls = 1'000'000'000;
  BenchRequest request;
  request.collectives = read_operations(arguments.collective);
  request.algorithms = read_algorithms(arguments.algorithm);
  request.ranks = arguments.threads.empty() ? read_ranks("--ranks", arguments.ranks)
                                            : read_ranks("--threads", arguments.threads);
  request.root = static_cast<int>(whole_number("--root", arguments.root, 0, 255));
  request.sizes = read_sizes(arguments);
  request.exact_counts = arguments.exact_counts;
  read_buffers(arguments.buffers, request);
  if (!arguments.step.empty() && !given("factor")) request.sizes.factor = 0;  // -f wins
  request.types =
      read_names<ElementType>("--type", arguments.type, parse_element_type, all_element_types);
  request.ops = read_names<ReduceOp>("--op", arguments.op, parse_reduce_op, all_reduce_ops);
  if (arguments.placement == "in")
    request.measured = {false, true};
  else if (arguments.placement == "out")
    request.measured = {true, false};
  else if (arguments.placement != "both")
    reject("--placement", "both, in or out", arguments.placement);
  if (!arguments.iterations.empty())
    request.iterations = whole_number("--iterations", arguments.iterations, 1, most_calls);
  request.time = read_duration("--time", arguments.time);
  request.warmup = static_cast<int>(whole_number("--warmup", arguments.warmup, 0, 1'000'000));
  if (arguments.spread) request.rounds = spread_rounds;
  if (!arguments.rounds.empty())
    request.rounds = static_cast<int>(whole_number("--rounds", arguments.rounds, 1, 1000));
  request.check = whole_number("--check", arguments.check, 0, 1) > 0;
  const auto pin = parse_bool(arguments.pin);
  if (!pin) reject("--pin", "yes or no", arguments.pin);
  request.pin = *pin;
  if (!arguments.timeout.empty()) request.timeout = read_duration("--timeout", arguments.timeout);
  request.spread = arguments.spread;
  if (!arguments.compare.empty() && !is_run_file(arguments.compare)) {
    std::error_code ignored;
    if (arguments.compare.find('/') != std::string::npos ||
        std::filesystem::exists(arguments.compare, ignored))
      reject("--compare", "names, or the file of an earlier run, which ends in .json",
             arguments.compare);
    request.compare = bench::parse_competitors(arguments.compare);
    request.compare_what_is_here = arguments.compare == "all";
  }
  read_gpus(arguments.of_gpus, given, request);
  if (runs_on_gpus(request.backend) && request.compare_what_is_here)
    throw Error(ErrorCode::bad_input, "--compare all: beside --backend cuda say --compare nccl");
  return request;
}

Format read_format(const BenchArguments& arguments) {
  if (arguments.spread && arguments.format.empty()) return Format::json;
  if (arguments.spread && arguments.format != "json" && arguments.format != "csv")
    throw Error(ErrorCode::bad_input,
                "--spread: rows come all at once; choose --format json or csv");
  if (arguments.format.empty()) return arguments.summary ? Format::table : Format::text;
  if (arguments.format == "table") return Format::table;
  if (arguments.format == "json") return Format::json;
  if (arguments.format == "csv") {
    if (arguments.summary)
      throw Error(ErrorCode::bad_input, "--summary: a paragraph has no place in --format csv");
    return Format::csv;
  }
  if (arguments.format != "text") reject("--format", "text, table, json or csv", arguments.format);
  return Format::text;
}

std::vector<bench::Operation> with_a_choice(const char* mode, const BenchArguments& arguments,
                                            const BenchRequest& request) {
  std::vector<bench::Operation> list;
  for (const auto operation : request.collectives) {
    const bool none = !has_algorithms(operation);
    if (none && arguments.collective != "all")
      throw Error(ErrorCode::bad_input, fmt::format("{}: {} has no algorithms to choose from", mode,
                                                    to_string(operation)));
    if (!none) list.push_back(operation);
  }
  return list;
}

bench::TuneRequest read_tune_request(const BenchArguments& arguments, const BenchRequest& request,
                                     const Given& given) {
  bench::TuneRequest tune;
  if (given("collective")) {
    const auto collectives = with_a_choice("--tune", arguments, request);
    tune.collectives.assign(collectives.begin(), collectives.end());
  }
  if (given("ranks") || given("threads") || runs_on_gpus(request.backend))
    tune.ranks = request.ranks;
  tune.backend = request.backend;
  tune.gpus = request.gpus;
  if (given("begin")) tune.sizes.begin = request.sizes.begin;
  if (given("end")) tune.sizes.end = request.sizes.end;
  if (given("factor")) tune.sizes.factor = request.sizes.factor;
  tune.algorithms = request.algorithms;
  tune.pin = request.pin;
  tune.time = read_duration("--tune-time", arguments.tune_time);
  return tune;
}

bench::preflight::Request read_preflight_request(const BenchArguments& arguments) {
  bench::preflight::Request request;
  request.total = read_preflight_limit("--preflight-time", arguments.preflight_time);
  if (!arguments.timeout.empty())
    request.step = read_preflight_limit("--timeout", arguments.timeout);
  request.quick = arguments.quick;
  return request;
}

void check_mode(const BenchArguments& arguments, const Given& given,
                const std::vector<std::string>& names) {
  struct Mode {
    const char* name;
    bool asked;
    std::set<std::string_view> also;
  };
  const std::vector<Mode> modes = {
      {"--tune",
       !arguments.tune.empty(),
       {"tune", "tune-time", "collective", "algorithm", "ranks", "threads", "begin", "end",
        "factor", "pin", "backend", "devices", "ngpus", "issue", "copies"}},
      {"--regret",
       arguments.regret,
       {"regret", "collective", "algorithm", "ranks",        "threads", "root",    "begin",
        "end",    "factor",     "step",      "exact-counts", "buffers", "time",    "rounds",
        "warmup", "op",         "type",      "placement",    "pin",     "timeout", "backend",
        "output", "devices",    "ngpus",     "issue",        "copies"}},
      {"--compare FILE",
       is_run_file(arguments.compare),
       {"compare", "against", "timeout", "format", "output"}},
      {"--preflight",
       arguments.preflight,
       {"preflight", "preflight-time", "quick", "timeout", "format", "output", "backend"}},
  };
  for (const auto& mode : modes) {
    if (!mode.asked) continue;
    for (const auto& name : names)
      if (given(name) && !mode.also.contains(name))
        throw Error(ErrorCode::bad_input,
                    fmt::format("--{} has no meaning beside {}{}", name, mode.name,
                                arguments.preflight && (name == "devices" || name == "ngpus")
                                    ? ": set CUDA_VISIBLE_DEVICES to choose GPUs for it"
                                    : ""));
  }
  if (arguments.preflight && given("backend") && arguments.of_gpus.backend != "cuda")
    reject("--backend", "cuda, or none, beside --preflight", arguments.of_gpus.backend);
  if (given("tune-time") && arguments.tune.empty())
    throw Error(ErrorCode::bad_input, "--tune-time: needs --tune");
  if (given("against") && !is_run_file(arguments.compare))
    throw Error(ErrorCode::bad_input, "--against: needs --compare OLD.json");
  for (const std::string_view name : {"preflight-time", "quick"})
    if (given(name) && !arguments.preflight)
      throw Error(ErrorCode::bad_input, fmt::format("--{}: needs --preflight", name));
}

}  // namespace ringside::cli
