// SPDX-License-Identifier: MIT
/// `ringside bench`: the options of a benchmark, and its run. The options of nccl-tests have its
/// letters.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/target_file.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/bench.hpp"
#include "ringside/bench/competitors.hpp"
#include "ringside/bench/gpu_request.hpp"
#include "ringside/bench/interruption.hpp"
#include "ringside/bench/platform.hpp"
#include "ringside/bench/preflight/worker.hpp"
#include "ringside/collectives/executors/mpi/transport.hpp"
#include "ringside/tools/cli/bench_arguments.hpp"
#include "ringside/tools/cli/bench_gpus.hpp"
#include "ringside/tools/cli/bench_modes.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/tools/cli/output.hpp"

namespace ringside::cli {
namespace {

using bench::BenchRequest;
using bench::Format;

/// Where a report is to go is found out before it is measured. "" and "-": standard output.
void check_target(const std::string& output) {
  if (!output.empty() && output != "-") check_writable(output);
}

/// Whether a mode's report is to be JSON, of the two forms that it has.
bool wants_json(const BenchArguments& arguments) {
  if (!arguments.format.empty() && arguments.format != "text" && arguments.format != "json")
    reject("--format", "text or json", arguments.format);
  return arguments.format == "json";
}

/// The modes that are no sweep with rows. Returns the exit code, or nothing for a sweep.
std::optional<int> run_mode(const BenchArguments& arguments, const BenchRequest& request,
                            const Given& given) {
  const std::string to = arguments.output.empty() ? "-" : arguments.output;
  if (!arguments.tune.empty()) {
    check_target(arguments.tune);
    run_tune(read_tune_request(arguments, request, given), arguments.tune);
    return 0;
  }
  if (arguments.regret) {
    check_target(to);
    auto judged = request;
    judged.collectives = with_a_choice("--regret", arguments, request);
    run_regret(judged, to);
    return 0;
  }
  if (arguments.preflight) {
    const bool json = wants_json(arguments);
    check_target(to);
    return run_preflight(read_preflight_request(arguments), json, to);
  }
  if (!is_run_file(arguments.compare)) return std::nullopt;
  const bool json = wants_json(arguments);
  check_target(to);
  return run_comparison({.old_run = arguments.compare,
                         .new_run = arguments.against,
                         .timeout = request.timeout,
                         .json = json,
                         .output = to});
}

/// Completes a request for GPUs. What can be found wrong without a device is found first: to open
/// one takes seconds, and a machine without any must not hide a mistake.
void settle_gpus(const BenchArguments& arguments, const Given& given, BenchRequest& request) {
  bench::check_gpu_request(request);
  if (!arguments.tune.empty()) {
    check_target(arguments.tune);
    check_tuning_time(read_tune_request(arguments, request, given));
  } else {
    check_target(arguments.output);
    if (arguments.regret)
      (void)with_a_choice("--regret", arguments, request);
    else
      (void)read_format(arguments);
    bench::check_request(request);
  }
  bench::settle_gpus(request);
}

int run(const BenchArguments& arguments, const Given& given,
        const std::vector<std::string>& names) {
  if (arguments.preflight_worker) return bench::preflight::run_worker();
  for (const auto& [name, value] :
       {std::pair{"compare", &arguments.compare}, std::pair{"against", &arguments.against},
        std::pair{"output", &arguments.output}, std::pair{"tune", &arguments.tune}})
    if (given(name) && value->empty())
      throw Error(ErrorCode::bad_input, fmt::format("--{}: expected something, got \"\"", name));
  check_mode(arguments, given, names);
  auto request = read_request(arguments, given);
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

void add_what_is_called(CLI::App& command, BenchArguments& a) {
  const WordOptions add(command);
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
  add("--backend", a.of_gpus.backend, "host|cuda|nccl|mpi|openmpi",
      "What runs the collectives: threads of this process (default), our plans on GPUs, NCCL; "
      "under\n"
      "mpirun: our plans on its processes (mpi), or the all_reduce of the MPI itself (openmpi)");
  add("--memory", a.of_gpus.memory, "private|shared|gpu",
      "--backend mpi: buffers that the processes do not share (default), or that they do, or "
      "memory "
      "of GPUs that those of a host open (rank r on the r-th of --devices)");
  add("-r,--root", a.root, "RANK", "Of broadcast, reduce, gather and scatter (default: 0)");
  add("-o,--op", a.op, "OP[,OP...]",
      "sum (default), prod, max, min, avg, premul_sum (mulsum), or all");
  add("-d,--type", a.type, "TYPE[,TYPE...]",
      "float32 (float; default), float16 (half), bfloat16, float64 (double), float8_e4m3 (f8e4m3), "
      "float8_e5m2 (f8e5m2), int8, ..., or all");
  add("--placement", a.placement, "both|in|out", "In place, out of place (default: both)");
}

void add_sizes_and_repetitions(CLI::App& command, BenchArguments& a) {
  const WordOptions add(command);
  add("-b,--begin", a.begin, "SIZE",
      "Smallest message, in bytes of a rank's longer buffer (default: 8)");
  add("-e,--end", a.end, "SIZE", "Largest message (default: 64M)");
  add("-f,--factor", a.factor, "N", "Each size is N times the one before (default: 8)");
  add("-i,--step", a.step, "SIZE", "Each size is SIZE larger; -f wins, as in nccl-tests");
  add_switch(command, "--exact-counts", a.exact_counts,
             "Do not round a rank's block down to 16 bytes, as nccl-tests does");
  add("--buffers", a.buffers, "WORD",
      "What a call finds: warm (the same buffers; default), cold (others in every call; cold:SIZE "
      "moves through SIZE bytes a rank), rewritten (each rank has just written its input, "
      "untimed)");
  add("-n,--iterations", a.iterations, "N",
      "Calls per algorithm, size and placement, instead of --time");
  add("--time", a.time, "TIME",
      "Time for the calls of one algorithm, size and placement (default: 50ms). As many calls are "
      "made as should fit; among processes (--backend mpi) they are all made, however long they "
      "last");
  add("--rounds", a.rounds, "N",
      "Blocks that these calls are spread over, the algorithms taking turns (default: 5; with "
      "--spread "
      "12)");
  add("-w,--warmup", a.warmup, "N", "Untimed calls before (default: 1)");
  add("-c,--check", a.check, "0|1", "Check the results (default: 1)");
  add("--pin", a.pin, "yes|no", "Keep every rank on one core, rank mod cores (default: yes)");
  add("--timeout", a.timeout, "TIME",
      "Longest wait for a rank (default: the option timeout); with --preflight for a step "
      "(default: 5s; 1s or more)");
}

/// What is measured beside it, and what is no sweep.
void add_modes(CLI::App& command, BenchArguments& a) {
  const WordOptions add(command);
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
  add_switch(command, "--spread", a.spread,
             "Go through everything once a round, so that the run can be compared with a "
             "later one (--compare OLD.json); in 12 rounds unless --rounds says otherwise");
  add("--tune", a.tune, "FILE",
      "Measure what auto should take (default: all collectives on 2, 4 and 8 ranks) and write the "
      "table there, for the option tuning; - is standard output");
  add("--tune-time", a.tune_time, "TIME",
      "About how long that takes in all (default: 5m; too little is refused)");
  add_switch(command, "--regret", a.regret,
             "Measure auto against the fastest algorithm at every size");
  add_switch(command, "--preflight", a.preflight,
             "Is every path between this machine's GPUs right, and how fast: verified copies "
             "between all pairs, by copies and kernels, with P2P and without; many at once; to and "
             "from the host. CUDA_VISIBLE_DEVICES chooses GPUs. Exit code 1 for a finding");
  add("--preflight-time", a.preflight_time, "TIME",
      "At most how long that takes in all (default: 60s; 1s or more)");
  add_switch(command, "--quick", a.quick, "Preflight with less to measure");
  add_hidden_switch(command, "--preflight-worker",
                    a.preflight_worker);  // how --preflight calls itself
}

void add_report(CLI::App& command, BenchArguments& a) {
  const WordOptions add(command);
  add("--format", a.format, "WORD",
      "text (nccl-tests' rows; default), table (default with --summary), json (default with "
      "--spread), csv; with --compare OLD.json and --preflight text or json");
  add_switch(command, "--summary", a.summary,
             "End with a paragraph: which algorithm won where, by how much, and why");
  add("--output", a.output, "FILE", "Write there, in one step at the end, not to standard output");
}

void add_options(CLI::App& command, BenchArguments& a) {
  add_what_is_called(command, a);
  add_sizes_and_repetitions(command, a);
  add_modes(command, a);
  add_report(command, a);
}

std::vector<std::string> long_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const auto& name : option->get_lnames()) names.push_back(name);
  return names;
}

}  // namespace

void add_bench_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("bench", "Time and check collectives, per algorithm");
  const auto arguments = std::make_shared<BenchArguments>();
  add_options(*command, *arguments);
  const auto names = long_names(*command);  // without those that every command takes
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
  command->callback([command, arguments, names, &exit_code] {
    exit_code = run(*arguments, given_on(*command), names);
  });
}

}  // namespace ringside::cli
