// SPDX-License-Identifier: MIT
/// The options of `ringside bench` that say what runs the collectives, and on which GPUs.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "ringside/bench/request.hpp"
#include "ringside/tools/cli/option_values.hpp"

namespace ringside::cli {

/// The words of the command line, before they are understood.
struct GpuArguments {
  std::string backend = "host";
  std::string gpus, devices, issue, copies, memory;
  bool allow_virtual = false;
};

/// Adds them, but for --backend.
void add_gpu_options(CLI::App& command, GpuArguments& arguments);

/// Reads them into the request. Without `--ranks` and `--threads` the request for GPUs has one rank
/// for each GPU named, or no ranks where none is named (bench::settle_gpus). Throws
/// Error(bad_input), also for what has no meaning with the backend.
void read_gpus(const GpuArguments& arguments, const Given& given, bench::BenchRequest& request);

/// A line above the text of a run with `-g 1` on the host, whose user may think of a GPU; else
/// empty.
[[nodiscard]] std::string no_gpu_remark(const bench::BenchRequest& request, const Given& given);

}  // namespace ringside::cli
