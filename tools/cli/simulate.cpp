// SPDX-License-Identifier: MIT
/// `ringside simulate`: how long algorithms take on a machine, and what limits them, by the twin.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/progress.hpp"
#include "ringside/bench/volume.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/executors/simulated/timeline.hpp"
#include "ringside/collectives/executors/simulated/uncertainty.hpp"
#include "ringside/collectives/selector/fabric_order.hpp"
#include "ringside/collectives/selector/request_bounds.hpp"
#include "ringside/tools/cli/call_options.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/machine_options.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/tools/cli/output.hpp"
#include "ringside/tools/cli/simulate_fit.hpp"
#include "ringside/tools/cli/simulate_report.hpp"
#include "ringside/tools/cli/sizes.hpp"

namespace ringside::cli {
namespace {

constexpr double giga = 1e9;

struct Arguments {
  MachineArguments machine;
  FitArguments fit;
  std::string algorithm = "all", sizes = "64K,1M,16M,256M";
  CallArguments call;
  bool links = false, critical_path = false;
  std::string timeline, format;
};

// --- reading the command line --------------------------------------------------------------------

/// The specs to simulate; those that do not serve the request are noted where all were asked for.
std::vector<Spec> read_specs(const Arguments& arguments, const Request& request,
                             std::vector<std::string>& skipped) {
  std::vector<Spec> specs;
  if (arguments.algorithm == "all") {
    for (const AlgorithmInfo& info : registered_algorithms()) {
      const auto& served = info.collectives;
      if (std::find(served.begin(), served.end(), request.collective) == served.end()) continue;
      try {
        check_spec(info.name, request);
        specs.push_back(parse_spec(info.name));
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::bad_input) throw;
        skipped.push_back(fmt::format("{}: {}", info.name, error.what()));
      }
    }
    return specs;
  }
  std::set<std::string> seen;
  for (const auto& text : split_specs(arguments.algorithm)) {
    const Spec spec = parse_spec(text);
    if (spec.name == "all" || spec.name == "auto")
      throw Error(ErrorCode::bad_input,
                  spec.name == "all" ? "--algorithm: all stands alone"
                                     : "--algorithm: what is chosen for a machine, ringside choose "
                                       "tells; name algorithms here");
    if (!seen.insert(text).second)
      throw Error(ErrorCode::bad_input, fmt::format("--algorithm: {} is there twice", quote(text)));
    check_spec(text, request);
    specs.push_back(spec);
  }
  if (specs.empty()) reject("--algorithm", "spec strings or all", arguments.algorithm);
  return specs;
}

// --- simulating ----------------------------------------------------------------------------------

/// All that one command simulates.
class Sweep {
 public:
  Sweep(const Arguments& arguments, const ChosenMachine& chosen)
      : arguments_(arguments),
        machine_(chosen.machine),
        sizes_(sizes_in_bytes("--sizes", arguments.sizes)) {
    report_.machine = &chosen;
    call_ = chosen_call(arguments.call, machine_.gpus());
    report_.gpus = call_.gpus;
    report_.request = call_.request;
    report_.type = call_.type;
    specs_ = read_specs(arguments, report_.request, report_.skipped);
    report_.notes = notes();
    if (!arguments.timeline.empty() && specs_.size() * sizes_.size() != 1)
      throw Error(ErrorCode::bad_input, "--timeline: name one algorithm and one size");
    if (*std::min_element(sizes_.begin(), sizes_.end()) < least_certain_bytes) {
      fast_ = with_times_scaled(machine_, 1 / uncertainty_of_times);
      slow_ = with_times_scaled(machine_, uncertainty_of_times);
    }
  }

  SimulationReport run() {
    bench::Progress progress;
    std::size_t done = 0;
    for (const std::uint64_t size : sizes_)
      for (const Spec& spec : specs_) {
        progress.show(done++, sizes_.size() * specs_.size(),
                      fmt::format("{}, {}", to_string(spec), format_bytes(size)));
        report_.rows.push_back(simulate_one(spec, size));
      }
    return std::move(report_);
  }

 private:
  /// What is to be said of the plans before they are simulated.
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> all;
    for (const Spec& spec : specs_)
      if (const auto remark = off_fabric_remark(machine_, report_.gpus, spec); !remark.empty())
        all.push_back(fmt::format("{}: {}", to_string(spec), remark));
    if (any_through_host(machine_, report_.gpus))
      all.emplace_back(
          "without peer access these plans copy through the host's memory op by op; NCCL's staged "
          "rings go on inside a kernel and reach more (docs/twin.md)");
    return all;
  }

  [[nodiscard]] SimulatedCall call_of(const bench::Volume& volume) const {
    SimulatedCall call;
    call.block_elements.assign(static_cast<std::size_t>(block_count(report_.request)),
                               volume.count);
    call.element_bytes = size_of(report_.type);
    call.gpus = report_.gpus;
    return call;
  }

  SimulatedRow simulate_one(const Spec& spec, std::uint64_t size) {
    const Request& request = report_.request;
    const auto volume =
        bench::volume_of(request.collective, request.ranks, report_.type, size, false);
    if (volume.count == 0) fail_as_empty("--sizes", size, call_);
    const SimulatedCall call = call_of(volume);
    SimulationWanted wanted;
    wanted.critical_path = true;
    wanted.resources = arguments_.links;
    wanted.timeline = !arguments_.timeline.empty();
    Simulation simulation = simulate(machine_, spec, request, call, wanted);
    if (wanted.timeline) write_timeline(simulation, spec, size);

    SimulatedRow row;
    row.spec = to_string(spec);
    row.bytes = volume.bytes;
    row.asked = size;
    row.seconds = simulation.seconds;
    row.ops = simulation.ops;
    if (size < least_certain_bytes) {
      row.least = simulate(*fast_, spec, request, call).seconds;
      row.most = simulate(*slow_, spec, request, call).seconds;
    }
    if (simulation.seconds > 0)
      row.algorithm_bandwidth = static_cast<double>(volume.bytes) / simulation.seconds / giga;
    row.bus_bandwidth =
        row.algorithm_bandwidth * bench::bus_factor(request.collective, request.ranks);
    row.bound = bound_of(volume);
    row.shares = shares_of(simulation.critical_path);
    if (arguments_.critical_path) row.critical_path = std::move(simulation.critical_path);
    row.resources = std::move(simulation.resources);
    return row;
  }

  /// Seconds that no plan can beat; worked out once.
  double bound_of(const bench::Volume& volume) {
    const Request& request = report_.request;
    const double bytes = static_cast<double>(volume.count) *
                         static_cast<double>(size_of(report_.type)) * block_count(request);
    if (!bound_) {
      bound_ = bounds_for(machine_, report_.gpus, request, 1);
      report_.bound_reason = bound_->bounds.front().told();
      report_.bound_caveat = bound_caveat(machine_, report_.gpus, bound_->bounds.front());
    }
    return bound_->seconds * bytes;
  }

  void write_timeline(const Simulation& simulation, const Spec& spec, std::uint64_t size) {
    const auto title = fmt::format("{}, {} of {} on {}", to_string(spec), describe(report_.request),
                                   format_bytes(size), report_.machine->name);
    write_file(arguments_.timeline, chrome_trace(simulation, machine_, report_.gpus, title));
  }

  const Arguments& arguments_;
  const Machine& machine_;
  ChosenCall call_;
  std::vector<std::uint64_t> sizes_;
  std::vector<Spec> specs_;
  std::optional<Machine> fast_, slow_;  // for ranges, where sizes are small
  std::optional<RequestBounds> bound_;
  SimulationReport report_;
};

void run(const Arguments& arguments) {
  const ChosenMachine chosen = chosen_machine(arguments.machine);
  const SimulationReport report = Sweep(arguments, chosen).run();
  if (arguments.timeline == "-") return;  // standard output is taken
  print(arguments.format == "json"  ? report_json(report)
        : arguments.format == "csv" ? report_csv(report)
                                    : report_text(report));
}

}  // namespace

void add_simulate_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "simulate", "How long algorithms take on a machine, and what limits them: simulated");
  command->footer(
      "All times are simulated, from the very plans that executors run; docs/twin.md says what\n"
      "counts. Below 64 KiB latencies decide, which are known within a factor of 2: a range.\n"
      "Examples:\n"
      "  ringside simulate --topo 4gpu-pcie4-two-sockets --sizes 1M..1G\n"
      "  ringside simulate --topo topo.txt --algorithm ring,chain:slices=32 --links\n"
      "  ringside simulate --topo dgx1v --algorithm ring --sizes 64M --timeline ring.json");
  const auto arguments = std::make_shared<Arguments>();
  add_machine_options(*command, arguments->machine);
  command
      ->add_option("--algorithm", arguments->algorithm,
                   "Spec strings, separated by commas, or all (default)")
      ->type_name("SPEC,...");
  command
      ->add_option("--sizes", arguments->sizes,
                   "Bytes of a rank's longest buffer: 64K, 1M,45M, or 1K..1G,\n"
                   "each twice the one before (default: 64K,1M,16M,256M)")
      ->type_name("SIZE,...");
  add_call_options(*command, arguments->call);
  add_switch(*command, "--links", arguments->links,
             "What every link, port and memory carried, and when it was full");
  add_switch(*command, "--critical-path", arguments->critical_path,
             "The ops that the time went to, one after another");
  command
      ->add_option("--timeline", arguments->timeline,
                   "Write every op for chrome://tracing or ui.perfetto.dev")
      ->type_name("FILE");
  add_fit_options(*command, arguments->fit);
  add_format_option(*command, arguments->format, {"text", "json", "csv"});
  command->callback([arguments] {
    if (arguments->fit.files.empty() && !arguments->fit.model_file.empty())
      throw Error(ErrorCode::bad_input, "--save-model goes with --fit: there is no other to save");
    if (arguments->fit.files.empty())
      run(*arguments);
    else
      run_fit(arguments->machine, arguments->fit);
  });
}

}  // namespace ringside::cli
