// SPDX-License-Identifier: MIT
/// `ringside diagnose`: what is wrong with a machine, how sure that is, what it costs and what to
/// do.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/text.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/diagnose_report.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/tools/cli/output.hpp"
#include "ringside/topology/diagnose/live_evidence.hpp"
#include "ringside/topology/gpu_places.hpp"
#include "ringside/topology/model/transfers.hpp"
#include "ringside/topology/writers/nccl_graph.hpp"

namespace ringside::cli {
namespace {

struct Arguments {
  std::vector<std::string> inputs;
  bool live = false, verbose = false, list_rules = false;
  std::string size = "45M", model_size, step_time, nccl_graph, format;
};

std::optional<TrainedModel> model_of(const Arguments& arguments) {
  if (arguments.model_size.empty() && arguments.step_time.empty()) return std::nullopt;
  if (arguments.model_size.empty() || arguments.step_time.empty())
    throw Error(ErrorCode::bad_input, "--model-size and --step-time go together");
  const Seconds step = positive_time("--step-time", arguments.step_time, "a time such as 250ms");
  return TrainedModel{.parameters = parameters_in("--model-size", arguments.model_size),
                      .step_seconds = step.count()};
}

Evidence evidence_for(const Arguments& arguments) {
  if (arguments.live) {
    Evidence evidence = live_evidence({}, arguments.inputs);
    if (evidence.gpus().value_or(0) == 0)
      throw Error(ErrorCode::bad_input,
                  "--live: no GPU is visible on this machine (does nvidia-smi list one?); for "
                  "another machine name files with what its tools print");
    return evidence;
  }
  if (arguments.inputs.empty())
    throw Error(ErrorCode::bad_input,
                "name files, - for standard input, a preset, or --live (see ringside diagnose "
                "--help)");
  return load_evidence(arguments.inputs);
}

/// What the twin adds: prices, what ought to be measured, advice. Without how GPUs are linked none.
void add_predictions(DiagnosisReport& report, const Topology* topology) {
  const auto bytes = static_cast<double>(report.bytes);
  if (topology == nullptr) {
    report.prices.each.resize(report.diagnoses.found.size());
    return;
  }
  const auto& found = report.diagnoses.found;
  if (report.evidence->nvlink_untold()) {  // whatever is predicted is of another machine
    report.prices.each.resize(found.size());
    report.not_compared =
        "the inputs list no NVLink, which these GPUs may have: nvidia-smi topo -m tells";
    return;
  }
  report.prices = price_mends(*topology, found, bytes);
  add_measured(report.prices, report.evidence->readings, bytes);
  drop_without_gain(report.diagnoses.found, report.prices);
  rank_by_cost(report.diagnoses.found, report.prices);
  if (topology->gpus().size() < 2 || topology->links().empty()) return;
  const auto mended = machine_mended(*topology, found);
  const auto& evidence = *report.evidence;
  report.compared = compare_measured(mended, evidence.measured, evidence.readings);
  report.not_compared =
      report.compared.empty() ? why_not_compared(mended, evidence.measured, evidence.readings) : "";
  if (!report.model && !report.verbose) return;
  try {
    report.advice = advise(machine_as_found(*topology, found), bytes, report.model);
    if (!report.model) return;
    auto& now = report.advice->gradients;
    now = at_measured_rates(std::move(now), *report.model, report.evidence->readings,
                            static_cast<int>(topology->gpus().size()));
    if (report.prices.any())
      report.mended_gradients = gradient_costs(machine_mended(*topology, found), *report.model);
  } catch (const Error&) {
    if (report.model) throw;  // it was asked for
  }
}

/// GB/s of the ring's slowest hop, alone; what NCCL needs is the order of size.
double slowest_hop(const MachineDescription& description, std::span<const int> numbers) {
  const auto order = gpu_places(description.topology, numbers);
  const Machine machine(description.topology, description.model, description.settings);
  double slowest = 1e300;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Transfer hop{.from = {.gpu = order[i], .host = false},
                       .to = {.gpu = order[(i + 1) % order.size()], .host = false}};
    slowest = std::min(slowest, transfer_rate(machine, std::span(&hop, 1)));
  }
  return slowest;
}

void write_nccl_graph(const DiagnosisReport& report, const std::string& file) {
  const auto& found = report.diagnoses.found;
  const auto asks = std::ranges::find_if(found, [](const Diagnosis& each) {
    return !each.mend.ring_order.empty() && each.certainty != Certainty::possible;
  });
  const Topology* topology = report.evidence->topology();
  if (asks == found.end() || topology == nullptr)
    throw Error(ErrorCode::bad_input,
                "--nccl-graph: no finding asks for another ring, so no file is written");
  const auto& order = asks->mend.ring_order;
  write_file(file, nccl_ring_graph(*topology, order,
                                   slowest_hop(machine_as_found(*topology, found), order)));
}

void run(const Arguments& arguments, int& exit_code) {
  if (arguments.list_rules) return print(arguments.format == "json" ? rules_json() : rules_text());
  DiagnosisReport report;
  report.model = model_of(arguments);
  report.bytes = size_in_bytes("--size", arguments.size);
  if (report.bytes < 4) reject("--size", "at least 4 bytes", arguments.size);
  const Evidence evidence = evidence_for(arguments);
  report.evidence = &evidence;
  report.diagnoses = diagnose(evidence);
  report.verbose = arguments.verbose;
  add_predictions(report, evidence.topology());
  const Verdict verdict = report.verdict();
  if (verdict == Verdict::findings || verdict == Verdict::unexplained ||
      verdict == Verdict::too_fast)
    exit_code = 1;
  if (!arguments.nccl_graph.empty()) write_nccl_graph(report, arguments.nccl_graph);
  print(arguments.format == "json" ? diagnosis_json(report) : diagnosis_text(report));
}

}  // namespace

void add_diagnose_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "diagnose", "Say what is wrong with a machine, from whatever is known of it");
  command->footer(
      "Takes anything that ringside topo takes, in any number of files, and besides tables of\n"
      "nccl-tests and ringside bench, /proc/cmdline, df /dev/shm, ulimit -a, lscpu, dmesg and the\n"
      "variables that were set. Times are predicted by the twin.\n"
      "Exit codes: 0 nothing is wrong; 1 something is; 2 the inputs cannot be used.\n"
      "Examples:\n"
      "  ringside diagnose topo.txt nccl.log all_reduce_perf.txt\n"
      "  ringside bench --preflight --format json | ringside diagnose - topo.txt\n"
      "  ringside diagnose --live --model-size 1.3B --step-time 400ms");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("inputs", arguments->inputs, "Files, - for standard input, or a preset")
      ->type_name("FILE|PRESET");
  add_switch(*command, "--live", arguments->live,
             "This machine, from the kernel and the NVIDIA driver; files\nare then what was "
             "measured on it");
  command
      ->add_option("--size", arguments->size,
                   "Bytes of the all-reduce that findings are priced for\n(default: 45M)")
      ->type_name("SIZE");
  command
      ->add_option("--model-size", arguments->model_size,
                   "Parameters of a model that is trained on it (350M, 7B):\n"
                   "advice for its gradients")
      ->type_name("NUMBER");
  command
      ->add_option("--step-time", arguments->step_time,
                   "What a step of its training computes, without\ncommunication (250ms)")
      ->type_name("TIME");
  command
      ->add_option("--nccl-graph", arguments->nccl_graph,
                   "Where a finding asks for another ring: write it for\nNCCL_GRAPH_FILE")
      ->type_name("FILE");
  add_switch(*command, "-v,--verbose", arguments->verbose,
             "All of it: possible causes, sources, every copy, advice");
  add_switch(*command, "--list-rules", arguments->list_rules,
             "What is looked for, from which inputs, and what no text can tell");
  add_format_option(*command, arguments->format, {"text", "json"});
  command->callback([arguments, &exit_code] { run(*arguments, exit_code); });
}

}  // namespace ringside::cli
