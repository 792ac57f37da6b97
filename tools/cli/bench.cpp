// SPDX-License-Identifier: MIT
/// `ringside bench`: reads the command line of a benchmark. The options of nccl-tests have its
/// letters.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/bench.hpp"
#include "ringside/bench/competitors.hpp"
#include "ringside/bench/gpu_request.hpp"
#include "ringside/bench/interruption.hpp"
#include "ringside/bench/platform.hpp"
#include "ringside/bench/preflight/worker.hpp"
#include "ringside/bench/sweep.hpp"
#include "ringside/collectives/executors/mpi/transport.hpp"
#include "ringside/collectives/spec.hpp"
#include "ringside/tools/cli/bench_gpus.hpp"
#include "ringside/tools/cli/bench_modes.hpp"
#include "ringside/tools/cli/commands.hpp"

namespace ringside::cli {
namespace {

using bench::BenchRequest;
using bench::Format;

/// The words of the command line, before they are understood.
struct Arguments {
  std::string collective = "all_reduce", algorithm = "all", ranks = "2", root = "0";
  std::string threads;
  std::string begin = "8", end = "64M", factor = "8", step;
  std::string iterations, warmup = "1", rounds, check = "1";
  std::string pin = "yes", buffers = "warm";
  std::string op = "sum", type = "float", placement = "both", time = "50ms", timeout;
  std::string format, output, compare;
  std::string tune, tune_time = "5m", against;
  bool summary = false, exact_counts = false, spread = false, regret = false;
  bool preflight = false, quick = false, preflight_worker = false;
  std::string preflight_time = "60s";
  GpuArguments of_gpus;
};

/// Of a run that is to be compared: with fewer, few rows are told from their noise.
constexpr int spread_rounds = 12;

/// The long names of all options.
constexpr auto option_names = std::to_array<std::string_view>(
    {"collective", "algorithm", "ranks",  "threads",      "ngpus",          "root",
     "begin",      "end",       "factor", "step",         "exact-counts",   "buffers",
     "iterations", "time",      "rounds", "warmup",       "check",          "op",
     "type",       "placement", "pin",    "timeout",      "backend",        "memory",
     "compare",    "against",   "spread", "tune",         "tune-time",      "regret",
     "format",     "summary",   "output", "preflight",    "preflight-time", "quick",
     "devices",    "issue",     "copies", "allow-virtual"});

/// `--compare` takes the names of peers, or the file of an earlier run.
bool is_run_file(const std::string& compared) { return compared.ends_with(".json"); }

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

bench::SizeRange read_sizes(const Arguments& arguments) {
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
  const auto time = parse_duration(text);
  if (!time || time->count() <= 0) reject(option, "a time such as 0.05, 20ms or 2s", text);
  return *time;
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

BenchRequest read_request(const Arguments& arguments, bool factor_given, const Given& given) {
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
  if (!arguments.step.empty() && !factor_given) request.sizes.factor = 0;
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

Format read_format(const Arguments& arguments) {
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

/// Measuring may take long: a file that cannot be written is found out before.
void check_writable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path target = fs::weakly_canonical(fs::absolute(path), ignored);  // follows links
  const auto refuse = [&](int error) {
    throw Error(ErrorCode::io, fmt::format("cannot write {}: {}", quote(path),
                                           to_lower(std::generic_category().message(error))));
  };
  const auto status = fs::status(path, ignored);
  if (fs::is_directory(status)) refuse(EISDIR);
  // A file is replaced by another of its folder, anything else is written to.
  const bool replaced = fs::is_regular_file(status) || !fs::exists(status);
  const fs::path written = replaced ? target.parent_path() : target;
  if (::access(written.c_str(), W_OK) != 0) refuse(errno);
}

/// The table of choices: sizes, ranks and collectives where the command line says some.
/// The collectives that have algorithms to choose from; `all` means all of those.
std::vector<bench::Operation> with_a_choice(const char* mode, const Arguments& arguments,
                                            const BenchRequest& request) {
  std::vector<bench::Operation> list;
  for (const auto operation : request.collectives) {
    const bool none = operation.is_sendrecv() || is_barrier(operation);
    if (none && arguments.collective != "all")
      throw Error(ErrorCode::bad_input, fmt::format("{}: {} has no algorithms to choose from", mode,
                                                    to_string(operation)));
    if (!none) list.push_back(operation);
  }
  return list;
}

bench::TuneRequest read_tune_request(const Arguments& arguments, const BenchRequest& request,
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

bench::preflight::Request read_preflight_request(const Arguments& arguments) {
  bench::preflight::Request request;
  request.total = read_preflight_limit("--preflight-time", arguments.preflight_time);
  if (!arguments.timeout.empty())
    request.step = read_preflight_limit("--timeout", arguments.timeout);
  request.quick = arguments.quick;
  return request;
}

/// Whether a mode's report is to be JSON, of the two forms that it has.
bool wants_json(const Arguments& arguments) {
  if (!arguments.format.empty() && arguments.format != "text" && arguments.format != "json")
    reject("--format", "text or json", arguments.format);
  return arguments.format == "json";
}

/// The modes that are no sweep with rows. Returns the exit code, or nothing for a sweep.
std::optional<int> run_mode(const Arguments& arguments, const BenchRequest& request,
                            const Given& given) {
  const std::string to = arguments.output.empty() ? "-" : arguments.output;
  if (!arguments.tune.empty()) {
    if (arguments.tune != "-") check_writable(arguments.tune);
    run_tune(read_tune_request(arguments, request, given), arguments.tune);
    return 0;
  }
  if (arguments.regret) {
    if (to != "-") check_writable(to);
    auto judged = request;
    judged.collectives = with_a_choice("--regret", arguments, request);
    run_regret(judged, to);
    return 0;
  }
  if (arguments.preflight) {
    const bool json = wants_json(arguments);
    if (to != "-") check_writable(to);
    return run_preflight(read_preflight_request(arguments), json, to);
  }
  if (!is_run_file(arguments.compare)) return std::nullopt;
  const bool json = wants_json(arguments);
  if (to != "-") check_writable(to);
  return run_comparison({.old_run = arguments.compare,
                         .new_run = arguments.against,
                         .timeout = request.timeout,
                         .json = json,
                         .output = to});
}

/// What has no meaning beside --tune, --regret, --preflight or --compare OLD.json is refused: it
/// would be ignored.
void check_mode(const Arguments& arguments, const Given& given) {
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
    for (const std::string_view name : option_names)
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

/// Completes a request for GPUs. What can be found wrong without a device is found first: to open
/// one takes seconds, and a machine without any must not hide a mistake.
void settle_gpus(const Arguments& arguments, const Given& given, BenchRequest& request) {
  bench::check_gpu_request(request);
  if (!arguments.tune.empty()) {
    if (arguments.tune != "-") check_writable(arguments.tune);
    check_tuning_time(read_tune_request(arguments, request, given));
  } else {
    if (!arguments.output.empty() && arguments.output != "-") check_writable(arguments.output);
    if (arguments.regret)
      (void)with_a_choice("--regret", arguments, request);
    else
      (void)read_format(arguments);
    bench::check_request(request);
  }
  bench::settle_gpus(request);
}

int run(const Arguments& arguments, bool factor_given, const Given& given) {
  if (arguments.preflight_worker) return bench::preflight::run_worker();
  for (const auto& [name, value] :
       {std::pair{"compare", &arguments.compare}, std::pair{"against", &arguments.against},
        std::pair{"output", &arguments.output}, std::pair{"tune", &arguments.tune}})
    if (given(name) && value->empty())
      throw Error(ErrorCode::bad_input, fmt::format("--{}: expected something, got \"\"", name));
  check_mode(arguments, given);
  auto request = read_request(arguments, factor_given, given);
  warn_of_unknown_variables();
  bench::clean_up_on_signals();
  if (runs_on_gpus(request.backend) && !arguments.preflight) settle_gpus(arguments, given, request);
  if (const auto exit_code = run_mode(arguments, request, given)) return *exit_code;
  bench::Output output;
  output.format = read_format(arguments);
  output.summary = arguments.summary;
  if (runs_on_processes(request.backend) && mpi::transport().rank() != 0) {
    output.print = [](std::string_view) {};  // the first process tells
    return run_bench(request, output);
  }
  const bool for_people = output.format == Format::text || output.format == Format::table;
  auto remark = for_people ? no_gpu_remark(request, given) : std::string();
  if (arguments.output.empty() || arguments.output == "-") {
    output.print = [&remark](std::string_view text) {
      print(std::exchange(remark, {}));
      print(text);
      flush();  // who watches sees rows as they come, and a full disk ends the measurement
    };
    return run_bench(request, output);
  }
  check_writable(arguments.output);
  std::string collected = std::move(remark);
  output.print = [&](std::string_view text) { collected += text; };
  const int exit_code = run_bench(request, output);
  write_file(arguments.output, collected);
  return exit_code;
}

void add_options(CLI::App& command, Arguments& a) {
  const auto add = [&](const char* names, std::string& value, const char* type_name,
                       const std::string& meaning) {
    return command.add_option(names, value, meaning)->type_name(type_name);
  };
  add("--collective", a.collective, "NAME[,NAME...]",
      fmt::format("{}, sendrecv, or all (default: all_reduce)",
                  fmt::join(collective_names(), ", ")));
  add("-a,--algorithm", a.algorithm, "SPEC[,SPEC...]",
      "Spec strings, plan files, auto, or all: every one that does the collective\n(default: all)");
  auto* ranks =
      add("--ranks", a.ranks, "N[,N...]",
          "Numbers of ranks, which are threads (default: 2; on GPUs one for each; more go round "
          "them)");
  add("-t,--threads", a.threads, "N", "nccl-tests' word for --ranks")->excludes(ranks);
  add_gpu_options(command, a.of_gpus);
  add("-r,--root", a.root, "RANK", "Of broadcast, reduce, gather and scatter (default: 0)");
  add("-b,--begin", a.begin, "SIZE",
      "Smallest message, in bytes of a rank's longer buffer (default: 8)");
  add("-e,--end", a.end, "SIZE", "Largest message (default: 64M)");
  add("-f,--factor", a.factor, "N", "Each size is N times the one before (default: 8)");
  add("-i,--step", a.step, "SIZE", "Each size is SIZE larger; -f wins, as in nccl-tests");
  command
      .add_flag("--exact-counts", a.exact_counts,
                "Do not round a rank's block down to 16 bytes, as nccl-tests does")
      ->disable_flag_override();
  add("--buffers", a.buffers, "WORD",
      "What a call finds: warm (the same buffers; default), cold (others in every call; cold:SIZE "
      "moves through SIZE bytes a rank), rewritten (each rank has just written its input, "
      "untimed)");
  add("-n,--iterations", a.iterations, "N",
      "Calls per algorithm, size and placement, instead of --time");
  add("--time", a.time, "TIME",
      "Time for the calls of one algorithm, size and placement (default: 50ms)");
  add("--rounds", a.rounds, "N",
      "Blocks that these calls are spread over, the algorithms taking turns (default: 5; with "
      "--spread "
      "12)");
  add("-w,--warmup", a.warmup, "N", "Untimed calls before (default: 1)");
  add("-c,--check", a.check, "0|1", "Check the results (default: 1)");
  add("-o,--op", a.op, "OP[,OP...]",
      "sum (default), prod, max, min, avg, premul_sum (mulsum), or all");
  add("-d,--type", a.type, "TYPE[,TYPE...]",
      "float32 (float; default), float16 (half), bfloat16, float64 (double), float8_e4m3 (f8e4m3), "
      "float8_e5m2 (f8e5m2), int8, ..., or all");
  add("--placement", a.placement, "both|in|out", "In place, out of place (default: both)");
  add("--pin", a.pin, "yes|no", "Keep every rank on one core, rank mod cores (default: yes)");
  add("--timeout", a.timeout, "TIME",
      "Longest wait for a rank (default: the option timeout); with --preflight for a step "
      "(default: 5s; 1s or more)");
  add("--backend", a.of_gpus.backend, "host|cuda|nccl|mpi|openmpi",
      "What runs the collectives: threads of this process (default), our plans on GPUs, NCCL; "
      "under\n"
      "mpirun: our plans on its processes (mpi), or the all_reduce of the MPI itself (openmpi)");
  add("--memory", a.of_gpus.memory, "private|shared",
      "--backend mpi: buffers that the processes do not share (default), or that they do");
  add("--compare", a.compare, "NAME[,NAME...]|OLD.json",
      fmt::format(
          "Measure others in the same rounds and print the ratios: {} (nccl beside --backend cuda, "
          "openmpi or mpich beside mpi, in the same processes, the others beside host; all: the "
          "libraries that are here). Or the file of an earlier run "
          "(--spread): measure the same now and "
          "say what differs beyond the noise (99 %, and 3 %); exit code 1 if something is slower "
          "or an element was wrong, 2 if no row could be compared",
          fmt::join(bench::competitor_names(), ", ")));
  add("--against", a.against, "NEW.json", "Compare OLD.json with this run and measure nothing");
  command.add_flag("--spread", a.spread,
                   "Go through everything once a round, so that the run can be compared with a "
                   "later one (--compare OLD.json); in 12 rounds unless --rounds says otherwise");
  add("--tune", a.tune, "FILE",
      "Measure what auto should take (default: all collectives on 2, 4 and 8 ranks) and write the "
      "table there, for the option tuning; - is standard output");
  add("--tune-time", a.tune_time, "TIME",
      "About how long that takes in all (default: 5m; too little is refused)");
  command.add_flag("--regret", a.regret,
                   "Measure auto against the fastest algorithm at every size");
  command
      .add_flag(
          "--preflight", a.preflight,
          "Is every path between this machine's GPUs right, and how fast: verified copies "
          "between all pairs, by copies and kernels, with P2P and without; many at once; to and "
          "from the host. CUDA_VISIBLE_DEVICES chooses GPUs. Exit code 1 for a finding")
      ->disable_flag_override();
  add("--preflight-time", a.preflight_time, "TIME",
      "At most how long that takes in all (default: 60s; 1s or more)");
  command.add_flag("--quick", a.quick, "Preflight with less to measure")->disable_flag_override();
  command.add_flag("--preflight-worker", a.preflight_worker)
      ->group("");  // how --preflight calls itself
  add("--format", a.format, "WORD",
      "text (nccl-tests' rows; default), table (default with --summary), json (default with "
      "--spread), csv; with --compare OLD.json and --preflight text or json");
  command
      .add_flag("--summary", a.summary,
                "End with a paragraph: which algorithm won where, by how much, and why")
      ->disable_flag_override();
  add("--output", a.output, "FILE", "Write there, in one step at the end, not to standard output");
}

}  // namespace

void add_bench_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("bench", "Time and check collectives, per algorithm");
  const auto arguments = std::make_shared<Arguments>();
  add_options(*command, *arguments);
  command->footer(
      "The time of a row is that of one call of a block of calls on end, averaged over the ranks; "
      "the "
      "median of --rounds blocks. On GPUs it is the time between events in each rank's stream; "
      "what "
      "the host is in a call is told beside it. Sizes, counts and bandwidths are nccl-tests'. "
      "Ratios "
      "are medians of same-round ratios, so they may differ from those of the times. Exit code 1 "
      "if "
      "an element is wrong; 2 for a plan that the prover refutes, which is never run.");
  command->callback([command, arguments, &exit_code] {
    exit_code = run(*arguments, command->count("--factor") > 0, [&](std::string_view name) {
      return command->count(fmt::format("--{}", name)) > 0;
    });
  });
}

}  // namespace ringside::cli
