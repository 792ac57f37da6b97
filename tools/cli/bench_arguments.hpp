// SPDX-License-Identifier: MIT
/// The words of `ringside bench`'s command line, and the requests that they make. Everything here
/// throws Error (bad_input) with the option's name for what it does not understand.
#pragma once

#include <string>
#include <vector>

#include "ringside/bench/bench.hpp"
#include "ringside/bench/preflight/worker.hpp"
#include "ringside/bench/sweep.hpp"
#include "ringside/tools/cli/bench_gpus.hpp"
#include "ringside/tools/cli/bench_modes.hpp"

namespace ringside::cli {

/// The words of the command line, before they are understood.
struct BenchArguments {
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

/// `--compare` takes the names of peers, or the file of an earlier run.
[[nodiscard]] bool is_run_file(const std::string& compared);

/// What a sweep measures.
[[nodiscard]] bench::BenchRequest read_request(const BenchArguments& arguments, const Given& given);

/// How a sweep's rows are printed.
[[nodiscard]] bench::Format read_format(const BenchArguments& arguments);

/// The collectives that have algorithms to choose from; `all` means all of those.
[[nodiscard]] std::vector<bench::Operation> with_a_choice(const char* mode,
                                                          const BenchArguments& arguments,
                                                          const bench::BenchRequest& request);

/// The table of choices: sizes, ranks and collectives where the command line says some.
[[nodiscard]] bench::TuneRequest read_tune_request(const BenchArguments& arguments,
                                                   const bench::BenchRequest& request,
                                                   const Given& given);

[[nodiscard]] bench::preflight::Request read_preflight_request(const BenchArguments& arguments);

/// What has no meaning beside --tune, --regret, --preflight or --compare OLD.json is refused: it
/// would be ignored. `names`: the long names of the command's options.
void check_mode(const BenchArguments& arguments, const Given& given,
                const std::vector<std::string>& names);

}  // namespace ringside::cli
