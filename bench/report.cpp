// SPDX-License-Identifier: MIT
#include "ringside/bench/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/executors/host/small_message.hpp"

namespace ringside::bench {
namespace {

/// Bytes of the longest input of a rank. (A barrier and messages have no plan to bypass.)
std::uint64_t longest_input(Operation collective, int ranks, ElementType type,
                            const BenchRequest& request, std::uint64_t asked) {
  if (!has_algorithms(collective)) return std::numeric_limits<std::uint64_t>::max();
  const auto volume = volume_of(collective, ranks, type, asked, request.exact_counts);
  const bool one_block = collective == Collective::all_gather || collective == Collective::gather;
  return one_block ? volume.count * size_of(type) : volume.bytes;
}

/// Bytes of the longest input that travels in the call itself; 0: none does.
std::size_t longest_inline(const BenchRequest& request, int ranks) {
  if (request.backend == BackendKind::openmpi || option<bool>("checksum")) return 0;
  if (request.backend == BackendKind::mpi) return option<std::uint64_t>("mpi_inline");
  return host::longest_small_message(ranks, allowed_cpu_count());
}

/// Not rounded: "4080 B", where 4 KiB would be too long.
std::string exact_bytes(std::size_t bytes) {
  return bytes % 1024 == 0 ? format_bytes(bytes) : fmt::format("{} B", bytes);
}

/// Whether any message of so many ranks does.
bool any_is_inline(const BenchRequest& request, int ranks) {
  for (const auto collective : request.collectives)
    for (const auto type : request.types)
      if (is_inline(request, collective, ranks, type, request.sizes.begin)) return true;
  return false;
}

}  // namespace

bool is_inline(const BenchRequest& request, Operation collective, int ranks, ElementType type,
               std::uint64_t asked) {
  const std::size_t most = longest_inline(request, ranks);
  return most > 0 && longest_input(collective, ranks, type, request, asked) <= most;
}

std::string_view inline_option(const BenchRequest& request) {
  return request.backend == BackendKind::mpi ? "mpi_inline" : "inline";
}

std::string inline_remark(const BenchRequest& request) {
  // The limits and for how many ranks each holds.
  std::map<std::size_t, std::vector<int>> limits;
  for (const int ranks : std::set(request.ranks.begin(), request.ranks.end())) {
    if (any_is_inline(request, ranks)) limits[longest_inline(request, ranks)].push_back(ranks);
  }
  if (limits.empty()) return {};
  std::vector<std::string> texts;
  for (const auto& [most, ranks] : limits)
    texts.push_back(limits.size() == 1 && ranks.size() == request.ranks.size()
                        ? exact_bytes(most)
                        : fmt::format("{} ({} ranks)", exact_bytes(most), fmt::join(ranks, ", ")));
  return fmt::format(
      "# inputs of up to {} a rank travel in the call itself where the algorithm's proof allows "
      "it; "
      "--set {}=0 runs its plan\n",
      join(texts, " or "), inline_option(request));
}

std::string options_remark(const Report& report) {
  if (report.options.empty()) return {};
  std::string text = "# options set:";
  for (const auto& [name, value] : report.options) text += fmt::format(" {}={}", name, value);
  return text + "\n";
}

std::string placing(const BenchRequest& request, const Machine& machine, int ranks) {
  const int cores = machine.allowed_cores;
  const auto shared =
      ranks > cores ? fmt::format("; {} ranks share {} core{}", ranks, cores, cores == 1 ? "" : "s")
                    : std::string();
  if (!request.pin) return "not pinned" + shared;
  return fmt::format("pinned, rank r to core r mod {}{}", cores, shared);
}

Process process_of(const Report& report, int rank) {
  if (report.processes) return report.processes->ranks[static_cast<std::size_t>(rank)];
  return {::getpid(), report.machine.host_name, report.machine.processor};
}

std::string_view gpu_timing(const Report& report) {
  return report.nothing_measured() ? "checked, not measured"
                                   : "measured by events of the GPUs in every rank's stream";
}

std::string gpu_remarks(const Report& report, int ranks) {
  if (!report.gpus) return {};
  std::string text =
      fmt::format("# CUDA: driver {}, runtime {}{}\n", report.gpus->driver, report.gpus->runtime,
                  report.gpus->nccl.empty() ? "" : ", " + report.gpus->nccl);
  if (report.nothing_measured()) text += "# virtual devices: nothing was measured\n";
  const auto shared = sharing_remark(report.request.gpus, ranks);
  return text + (shared.empty() ? "" : fmt::format("# {}\n", shared));
}

std::string buffers_remark(const BenchRequest& request) {
  if (runs_on_processes(request.backend) && !request.gpus.devices.empty())
    return fmt::format("# buffers are memory of GPUs, of the ranks in turn: {}\n",
                       fmt::join(request.gpus.devices, ", "));
  switch (request.buffers) {
    case Buffers::warm:
      return {};
    case Buffers::cold:
      if (request.cold_bytes)
        return fmt::format("# cold buffers: every call has others, out of {} a rank\n",
                           format_bytes(*request.cold_bytes));
      return "# cold buffers: every call has others, which have left the caches since their last "
             "use\n";
    case Buffers::rewritten:
      return "# rewritten buffers: every rank writes its input before each call, and then the "
             "ranks "
             "meet; both are not timed\n";
  }
  return {};
}

void forget_times(Timing& timing) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  timing.time = timing.median = timing.minimum = timing.p95 = timing.skew = none;
  timing.issue_time.reset();
  timing.round_times.clear();
  timing.round_medians.clear();
  timing.round_facts.clear();
}

std::string choices(const Row& row) {
  const auto& out = row.at(Placement::out_of_place);
  const auto& in = row.at(Placement::in_place);
  std::string first = out ? out->spec : std::string();
  std::string second = in ? in->spec : std::string();
  if (first == second || second.empty()) return first;
  if (first.empty()) return second;
  return fmt::format("{} out of place, {} in place", first, second);
}

std::uint64_t failed_checks(const Series& series) {
  std::uint64_t failed = 0;
  for (const auto& row : series.rows)
    for (const auto& timing : row.timings)
      if (timing && timing->check)
        failed += static_cast<std::uint64_t>(timing->check->failed_ranks);
  return failed;
}

double average_bus_bandwidth(const Series& series) {
  double sum = 0;
  int measured = 0;
  for (const auto& row : series.rows)
    for (const auto& timing : row.timings)
      if (timing) {
        sum += bus_bandwidth(series, row, *timing);
        ++measured;
      }
  return measured == 0 ? 0 : sum / measured;
}

}  // namespace ringside::bench
