// SPDX-License-Identifier: MIT
/// `ringside simulate`: how long algorithms take on a machine, and what limits them, by the twin.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/progress.hpp"
#include "ringside/bench/sizes.hpp"
#include "ringside/bench/volume.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/executors/simulated/timeline.hpp"
#include "ringside/collectives/executors/simulated/uncertainty.hpp"
#include "ringside/collectives/plan_cache.hpp"
#include "ringside/collectives/selector/request_bounds.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/machine_options.hpp"
#include "ringside/tools/cli/simulate_fit.hpp"
#include "ringside/tools/cli/simulate_report.hpp"

namespace ringside::cli {
namespace {

constexpr double giga = 1e9;

struct Arguments {
  MachineArguments machine;
  FitArguments fit;
  std::string algorithm = "all", sizes = "64K,1M,16M,256M";
  std::string collective = "all_reduce", ranks, gpus, root = "0", type = "float32";
  bool in_place = false, links = false, critical_path = false;
  std::string timeline, format;
};

// --- reading the command line --------------------------------------------------------------------

/// "64K", "1M,16M", "1K..1G" (each twice the one before), or several of them.
std::vector<std::uint64_t> read_sizes(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  for (const auto word : split(text, ',')) {
    const auto dots = word.find("..");
    if (dots == std::string_view::npos) {
      sizes.push_back(size_in_bytes("--sizes", word));
      continue;
    }
    bench::SizeRange range;
    range.begin = size_in_bytes("--sizes", word.substr(0, dots));
    range.end = size_in_bytes("--sizes", word.substr(dots + 2));
    range.factor = 2;
    const auto more = bench::sizes_of(range);
    sizes.insert(sizes.end(), more.begin(), more.end());
  }
  return sizes;
}

std::vector<int> all_gpus(int count) {
  std::vector<int> gpus(static_cast<std::size_t>(count));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

/// Of each rank.
std::vector<int> read_gpus(const Arguments& arguments, int gpus) {
  if (!arguments.gpus.empty() && !arguments.ranks.empty())
    throw Error(ErrorCode::bad_input,
                "--gpus names the GPU of every rank: it goes with no --ranks");
  if (!arguments.gpus.empty()) {
    const auto given = parse_ranks(arguments.gpus, ',');
    if (!given) reject("--gpus", "the GPU of every rank, as in 0,1,4,5", arguments.gpus);
    for (const int gpu : *given)
      if (gpu >= gpus)
        throw Error(ErrorCode::bad_input,
                    fmt::format("--gpus: there is no GPU {}: the machine has {}", gpu, gpus));
    return *given;
  }
  if (arguments.ranks.empty()) return all_gpus(gpus);
  const auto ranks = static_cast<int>(whole_number("--ranks", arguments.ranks, 1, max_ranks));
  if (ranks > gpus)
    throw Error(ErrorCode::bad_input,
                fmt::format("--ranks: {} ranks on {} GPUs: say with --gpus which share one, as in "
                            "--gpus 0,0,1,1",
                            ranks, gpus));
  return all_gpus(ranks);
}

Request read_request(const Arguments& arguments, int ranks) {
  const auto collective = parse_collective(arguments.collective);
  if (!collective)
    throw Error(
        ErrorCode::bad_input,
        fmt::format("--collective: there is no collective {}{}", quote(arguments.collective),
                    did_you_mean(arguments.collective, collective_names())));
  if (*collective == Collective::barrier)
    throw Error(ErrorCode::bad_input, "--collective: a barrier moves no data to simulate");
  const auto root = static_cast<int>(whole_number("--root", arguments.root, 0, ranks - 1));
  if (root != 0 && !has_root(*collective))
    throw Error(ErrorCode::bad_input,
                fmt::format("--root: {} has no root", to_string(*collective)));
  const Request request{*collective, ranks, root, arguments.in_place};
  validate(request);
  return request;
}

ElementType read_type(const std::string& text) {
  const auto type = parse_element_type(text);
  if (!type) reject("--type", "an element type such as float32 or half", text);
  return *type;
}

/// Throws for a spec from outside that is refuted: what it would take says nothing.
void require_proof(PlanCache& proven, const Spec& spec, const std::string& text,
                   const Request& request) {
  if (is_plan_file(spec.name) || !find_algorithm(spec.name).origin.empty())
    (void)proven.get(text, request);
}

/// The specs to simulate; those that do not serve the request are noted where all were asked for.
std::vector<Spec> read_specs(const Arguments& arguments, const Request& request,
                             std::vector<std::string>& skipped) {
  std::vector<Spec> specs;
  PlanCache proven;
  if (arguments.algorithm == "all") {
    for (const AlgorithmInfo& info : registered_algorithms()) {
      const auto& served = info.collectives;
      if (std::find(served.begin(), served.end(), request.collective) == served.end()) continue;
      try {
        const Spec spec = parse_spec(info.name);
        (void)make_algorithm(spec, request);
        require_proof(proven, spec, info.name, request);
        specs.push_back(spec);
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
    if (!is_plan_file(spec.name)) (void)make_algorithm(spec, request);
    require_proof(proven, spec, text, request);
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
      : arguments_(arguments), machine_(chosen.machine), sizes_(read_sizes(arguments.sizes)) {
    report_.machine = &chosen;
    report_.gpus = read_gpus(arguments, machine_.gpus());
    report_.request = read_request(arguments, static_cast<int>(report_.gpus.size()));
    report_.type = read_type(arguments.type);
    specs_ = read_specs(arguments, report_.request, report_.skipped);
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
    if (request.ranks < 2) return 0;
    if (!bound_) {
      bound_ = bounds_for(machine_, report_.gpus, request, 1);
      report_.bound_reason = bound_->bounds.front().reason;
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
  command->add_option("--collective", arguments->collective, "Which (default: all_reduce)")
      ->type_name("WORD");
  command->add_option("--ranks", arguments->ranks, "So many, on the first GPUs (default: on all)")
      ->type_name("N");
  command
      ->add_option("--gpus", arguments->gpus, "The GPU of every rank: 0,1,4,5; ranks may share one")
      ->type_name("N,...");
  command->add_option("--root", arguments->root, "Root of the collective, where it has one")
      ->type_name("RANK");
  command->add_flag("--in-place", arguments->in_place, "Input and output are the same memory");
  command->add_option("--type", arguments->type, "Element type (default: float32)")
      ->type_name("WORD");
  command->add_flag("--links", arguments->links,
                    "What every link, port and memory carried, and when it was full");
  command->add_flag("--critical-path", arguments->critical_path,
                    "The ops that the time went to, one after another");
  command
      ->add_option("--timeline", arguments->timeline,
                   "Write every op for chrome://tracing or ui.perfetto.dev")
      ->type_name("FILE");
  add_fit_options(*command, arguments->fit);
  add_format_option(*command, arguments->format, {"text", "json", "csv"});
  command->callback([arguments] {
    if (arguments->fit.files.empty())
      run(*arguments);
    else
      run_fit(arguments->machine, arguments->fit);
  });
}

}  // namespace ringside::cli
