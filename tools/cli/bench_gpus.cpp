// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/bench_gpus.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/platform.hpp"
#include "ringside/collectives/executors/mpi/transport.hpp"
#include "ringside/tools/cli/option_values.hpp"

namespace ringside::cli {
namespace {

constexpr int largest_device = 1'000'000;
constexpr std::size_t most_devices = 256;  // ranks of a World

/// "0,1,2,3" of "0-3"; empty where it is no short range.
std::string written_out(std::string_view range) {
  constexpr std::int64_t longest = 16;
  const auto ends = split(range, '-');
  if (ends.size() != 2) return {};
  const auto first = parse_int(ends[0], 0, largest_device);
  const auto last = parse_int(ends[1], 0, largest_device);
  if (!first || !last || *last < *first || *last - *first >= longest) return {};
  std::vector<std::int64_t> numbers;
  for (auto number = *first; number <= *last; ++number) numbers.push_back(number);
  return fmt::format("{}", fmt::join(numbers, ","));
}

/// Why a word is no number of a GPU, as far as one can guess what was meant.
std::string reason_against(std::string_view word) {
  if (trim(word).empty()) return "a number is missing";
  if (word.find_first_of(" \t") != std::string_view::npos) return "no spaces";
  if (word.find('-', 1) == std::string_view::npos) return {};
  const auto list = written_out(word);
  return fmt::format("no ranges{}", list.empty() ? "" : fmt::format(": write {}", list));
}

/// "0,1,1": a GPU may be there more than once.
std::vector<int> read_devices(const std::string& text) {
  std::vector<int> devices;
  for (const auto word : split(text, ',')) {
    const auto number = parse_int(word, 0, largest_device);
    if (!number) {
      const auto reason = reason_against(word);
      reject(
          "--devices",
          "numbers of GPUs, as in 0,1,2,3" + (reason.empty() ? "" : fmt::format(" ({})", reason)),
          text);
    }
    devices.push_back(static_cast<int>(*number));
  }
  if (devices.size() > most_devices) reject("--devices", "at most 256 of them", text);
  return devices;
}

/// One of the words, or all of them.
std::vector<std::string> read_ways(std::string_view option, const std::string& text,
                                   std::span<const std::string_view> ways, std::string_view all) {
  if (text == all) return {ways.begin(), ways.end()};
  if (std::find(ways.begin(), ways.end(), text) == ways.end())
    reject(option, fmt::format("{} or {}", fmt::join(ways, ", "), all), text);
  return {text};
}

/// What has a meaning with some backend only is refused with the others.
void check_backend_options(const bench::BenchRequest& request, const Given& given,
                           bool wants_gpus) {
  const auto with = fmt::format("with --backend {}", to_string(request.backend));
  if (!runs_on_gpus(request.backend)) {
    if (!wants_gpus)
      refuse(given, {"devices", "allow-virtual"}, with + ": add --backend cuda (or nccl)");
    refuse(given, {"issue", "copies"}, with + ": add --backend cuda");
    if (!runs_on_processes(request.backend))
      refuse(given, {"memory"}, with + ": add --backend mpi");
  } else if (given("ngpus"))
    for (const auto* name : {"devices", "threads"})
      if (given(name))
        throw Error(ErrorCode::bad_input,
                    fmt::format("--ngpus and --{} both say which GPUs are used", name));
  if (request.backend != bench::BackendKind::nccl) return;
  refuse(given, {"algorithm", "tune", "regret"}, with + ": NCCL chooses by itself");
  refuse(given, {"issue", "copies"}, with + ": that is how our own calls are made");
  refuse(given, {"compare", "spread"},
         with + ": other libraries are measured beside --backend cuda");
}

/// Ranks are the processes that mpirun started.
void settle_processes(const Given& given, bench::BenchRequest& request) {
  const auto with = fmt::format("with --backend {}", to_string(request.backend));
  refuse(given, {"ranks", "threads"}, with + ": mpirun says how many");
  refuse(given, {"tune", "regret", "spread"}, with);
  if (given("ngpus"))
    throw Error(ErrorCode::bad_input,
                fmt::format("-g: there are no GPUs in --backend {}, whose ranks are processes",
                            to_string(request.backend)));
  if (request.backend == bench::BackendKind::openmpi)
    refuse(given, {"algorithm", "compare"},
           with + ", which measures the MPI's own calls: add --backend mpi");
  const auto refuse_peer = [](const std::string& name, std::string_view measured) {
    throw Error(ErrorCode::bad_input,
                fmt::format("--compare {}: beside --backend mpi the MPI that runs it is measured "
                            "(--compare {})",
                            name, measured));
  };
  const bool any = request.compare_what_is_here;
  for (const auto& name : request.compare)
    if (!any && name != "openmpi" && name != "mpich") refuse_peer(name, "openmpi or mpich");
  const bool open_mpi = mpi::transport().library().starts_with("Open MPI");
  const std::string here = open_mpi ? "openmpi" : "mpich";
  for (const auto& name : request.compare)
    if (!any && name != here) refuse_peer(name, here);
  if (any) request.compare = {here};
  request.ranks = {mpi::transport().size()};
}

bool wants_shared_memory(const std::string& text) {
  if (text == "shared") return true;
  if (text != "private" && text != "gpu") reject("--memory", "private, shared or gpu", text);
  return false;
}

/// Ranks are processes, and their buffers memory of GPUs that all of a host open.
void settle_memory_of_gpus(const GpuArguments& arguments, const Given& given,
                           bench::BenchRequest& request) {
  const auto refuse_this = [](const std::string& what) {
    throw Error(ErrorCode::bad_input, fmt::format("{} has no meaning with --memory gpu", what));
  };
  if (request.backend == bench::BackendKind::openmpi) refuse_this("--backend openmpi");
  if (!request.compare.empty()) refuse_this("--compare");
  if (request.buffers != bench::Buffers::warm)
    refuse_this(fmt::format("--buffers {}", to_string(request.buffers)));
  if (given("devices")) request.gpus.devices = read_devices(arguments.devices);
  request.gpus.allow_virtual = arguments.allow_virtual;
  bench::settle_gpus(request);
}

}  // namespace

void add_gpu_options(CLI::App& command, GpuArguments& arguments) {
  const WordOptions add(command);
  add("-g,--ngpus", arguments.gpus, "N",
      "The first N GPUs, as nccl-tests' users say it; with --backend host 1 means no GPU, and more "
      "is refused");
  add("--devices", arguments.devices, "GPU[,GPU...]",
      "The GPUs of --backend cuda and nccl, and of mpi with --memory gpu; one may be there more "
      "than once (default: all)");
  add("--issue", arguments.issue, "streams|graphs|both",
      "--backend cuda: calls op by op in streams, as one CUDA graph (default; what a program gets "
      "that repeats its calls), or a series of each");
  add("--copies", arguments.copies, "auto|engine|kernel|all",
      "--backend cuda: who does plain copies, or a series of each (default: the option "
      "cuda_copies)");
  add_hidden_switch(command, "--allow-virtual", arguments.allow_virtual);  // for tests
}

void read_gpus(const GpuArguments& arguments, const Given& given, bench::BenchRequest& request) {
  const auto backend = bench::parse_backend(arguments.backend);
  if (!backend)
    throw Error(ErrorCode::bad_input,
                fmt::format("--backend: expected host, cuda, nccl, mpi or openmpi, got {}{}",
                            quote(arguments.backend),
                            did_you_mean(arguments.backend,
                                         std::vector<std::string_view>{"host", "cuda", "nccl",
                                                                       "mpi", "openmpi"})));
  request.backend = *backend;
  const auto number_of_gpus =
      given("ngpus") ? whole_number("-g", arguments.gpus, 1, static_cast<int>(most_devices)) : 0;
  const bool on_processes = runs_on_processes(request.backend);
  check_backend_options(request, given, on_processes && arguments.memory == "gpu");
  if (on_processes) {
    if (given("memory")) request.shared_memory = wants_shared_memory(arguments.memory);
    settle_processes(given, request);
    if (arguments.memory == "gpu") settle_memory_of_gpus(arguments, given, request);
    return;
  }
  if (request.backend == bench::BackendKind::host) {
    if (number_of_gpus > 1)  // 1 is what nccl-tests' users write
      throw Error(ErrorCode::bad_input,
                  fmt::format("-g {}: there are no GPUs in --backend host, whose ranks are threads "
                              "(-t or --ranks); add --backend cuda (or nccl)",
                              number_of_gpus));
    return;
  }
  auto& gpus = request.gpus;
  if (given("devices")) gpus.devices = read_devices(arguments.devices);
  for (int device = 0; device < number_of_gpus; ++device) gpus.devices.push_back(device);
  if (given("issue")) gpus.issue = read_ways("--issue", arguments.issue, bench::issue_ways, "both");
  gpus.copies = given("copies") ? read_ways("--copies", arguments.copies, bench::copy_ways, "all")
                                : std::vector{option<std::string>("cuda_copies")};
  if (request.backend == bench::BackendKind::nccl) gpus.issue = {"streams"};
  if ((given("tune") || given("regret")) && gpus.issue.size() * gpus.copies.size() > 1)
    throw Error(ErrorCode::bad_input,
                "--tune and --regret: one way to issue calls and one to copy at a time");
  gpus.allow_virtual = arguments.allow_virtual;
  if (given("ranks") || given("threads")) return;
  request.ranks.clear();  // one for each GPU
  if (!gpus.devices.empty()) request.ranks = {static_cast<int>(gpus.devices.size())};
}

std::string no_gpu_remark(const bench::BenchRequest& request, const Given& given) {
  if (!given("ngpus") || request.backend != bench::BackendKind::host) return {};
  return "# -g 1: no GPU is used, ranks are threads (--backend cuda or nccl: GPUs)\n";
}

}  // namespace ringside::cli
