// SPDX-License-Identifier: MIT
/// `ringside choose`: the plan that the twin predicts to be the fastest on a machine, and why not
/// the others.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/bench/progress.hpp"
#include "ringside/bench/volume.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/selector/nccl_comparison.hpp"
#include "ringside/collectives/selector/predicted_choice.hpp"
#include "ringside/tools/cli/call_options.hpp"
#include "ringside/tools/cli/choose_report.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/machine_options.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/tools/cli/output.hpp"
#include "ringside/tools/cli/sizes.hpp"

namespace ringside::cli {
namespace {

constexpr double giga = 1e9;
constexpr const char* default_size = "64M";

struct Arguments {
  MachineArguments machine;
  CallArguments call;
  std::string size, sizes, backend = "cuda", format;
  bool all = false;
};

std::vector<std::uint64_t> asked_sizes(const Arguments& arguments) {
  if (!arguments.size.empty() && !arguments.sizes.empty())
    throw Error(ErrorCode::bad_input, "--size asks for one size, --sizes for several: choose one");
  if (!arguments.sizes.empty()) return sizes_in_bytes("--sizes", arguments.sizes);
  return {size_in_bytes("--size", arguments.size.empty() ? default_size : arguments.size)};
}

ChosenRow choose_one(const ChosenMachine& chosen, const ChosenCall& call, Predictor& predictor,
                     const std::string& backend, std::uint64_t size) {
  const Request& request = call.request;
  const auto volume = bench::volume_of(request.collective, request.ranks, call.type, size, false);
  if (volume.count == 0) fail_as_empty("--size", size, call);
  Question question;
  question.request = request;
  question.element_bytes = size_of(call.type);
  question.bytes =
      volume.count * question.element_bytes * static_cast<std::uint64_t>(block_count(request));
  ChosenRow row;
  row.bytes = volume.bytes;
  row.choice = predictor.choose(question, tuning_in_use().get(), {backend, allowed_cpu_count()});
  if (row.choice.seconds > 0)
    row.algorithm_bandwidth = static_cast<double>(volume.bytes) / row.choice.seconds / giga;
  row.bus_bandwidth =
      row.algorithm_bandwidth * bench::bus_factor(request.collective, request.ranks);
  row.nccl = compare_with_nccl(chosen.machine, call.gpus, question, row.choice);
  return row;
}

void run(const Arguments& arguments) {
  const auto sizes = asked_sizes(arguments);
  if (arguments.all && sizes.size() != 1)
    throw Error(ErrorCode::bad_input, "--all goes with one size");
  constexpr auto backends = std::to_array<std::string_view>({"cuda", "host", "mpi"});
  if (std::find(backends.begin(), backends.end(), arguments.backend) == backends.end())
    reject("--backend", "cuda, host or mpi", arguments.backend);
  const ChosenMachine chosen = chosen_machine(arguments.machine);
  const ChosenCall call = chosen_call(arguments.call, chosen.machine.gpus());
  Predictor::Settings settings;
  settings.others = sizes.size() == 1 || arguments.format == "json";
  Predictor predictor(chosen.machine, call.gpus, settings);
  ChoiceReport report;
  report.machine = &chosen;
  report.request = call.request;
  report.gpus = call.gpus;
  report.type = call.type;
  report.all = arguments.all;
  bench::Progress progress;
  for (const std::uint64_t size : sizes) {
    progress.show(report.rows.size(), sizes.size(), format_bytes(size));
    report.rows.push_back(choose_one(chosen, call, predictor, arguments.backend, size));
  }
  print(arguments.format == "json" ? choice_json(report) : choice_text(report));
}

}  // namespace

void add_choose_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "choose", "The plan that is predicted to be the fastest on a machine, and why");
  command->footer(
      "Every plan that fits the machine is considered; times are simulated. Measured choices for\n"
      "the backend (option tuning, ringside bench --tune) come first.\n"
      "Examples:\n"
      "  ringside choose --topo 8gpu-two-sockets --size 256M\n"
      "  ringside choose --topo topo.txt --sizes 1K..1G\n"
      "  ringside choose --live --collective all_gather --size 45M --format json");
  const auto arguments = std::make_shared<Arguments>();
  add_machine_options(*command, arguments->machine);
  command->add_option("--size", arguments->size, "Bytes of a rank's longest buffer (default: 64M)")
      ->type_name("SIZE");
  command
      ->add_option("--sizes", arguments->sizes,
                   "Several, as a table: 64K, 1M,45M, or 1K..1G, each\ntwice the one before")
      ->type_name("SIZE,...");
  add_call_options(*command, arguments->call);
  command
      ->add_option("--backend", arguments->backend,
                   "Whose measured choices count: cuda (default), host, mpi")
      ->type_name("WORD");
  add_switch(*command, "--all", arguments->all, "Also what cannot serve the request, and why not");
  add_format_option(*command, arguments->format, {"text", "json"});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace ringside::cli
