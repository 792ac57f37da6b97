// SPDX-License-Identifier: MIT
/// `ringside explain`: what an algorithm does on a machine, why it takes so long, and what no plan
/// could beat, in words.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/reduction/types.hpp"
#include "ringside/collectives/selector/explain.hpp"
#include "ringside/collectives/selector/predicted_choice.hpp"
#include "ringside/tools/cli/call_options.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/machine_options.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/tools/cli/output.hpp"

namespace ringside::cli {
namespace {

struct Arguments {
  MachineArguments machine;
  CallArguments call;
  std::string algorithm = "auto", size = "64M", format;
  std::vector<std::string> compare;
};

/// Whole elements in equal blocks, for a message of so many bytes: a rank's longest buffer. Throws
/// Error(bad_input) if there are none.
ExplainedCall explained_call(const ChosenCall& chosen, std::uint64_t message) {
  const bool per_rank = chosen.request.collective == Collective::all_to_all;
  const std::uint64_t bytes =
      per_rank ? message * static_cast<std::uint64_t>(chosen.request.ranks) : message;
  const auto blocks = static_cast<std::uint64_t>(block_count(chosen.request));
  const std::uint64_t step = blocks * size_of(chosen.type);
  if (bytes < step) fail_as_empty("--size", message, chosen);
  return {chosen.request, bytes - bytes % step, size_of(chosen.type), chosen.gpus};
}

/// What would be taken if nobody named an algorithm.
PredictedChoice choose_for(const Machine& machine, const ExplainedCall& call, bool others) {
  Predictor::Settings settings;
  settings.others = others;
  Predictor predictor(machine, call.gpus, settings);
  return predictor.choose({call.request, call.bytes, call.element_bytes});
}

void add_others(CallExplanation& facts, const PredictedChoice& choice) {
  for (const auto& other : choice.others)
    if (other.seconds || other.at_least > 0)
      facts.alternatives.push_back({other.spec, other.seconds, other.why});
}

CallExplanation explain_choice(const ChosenMachine& chosen, const ExplainedCall& call,
                               const std::vector<std::string>& compare) {
  const PredictedChoice choice = choose_for(chosen.machine, call, compare.empty());
  std::vector<std::string> specs = {choice.spec};
  specs.insert(specs.end(), compare.begin(), compare.end());
  CallExplanation facts = explain_call(chosen.machine, chosen.name, call, specs);
  facts.chosen_because = choice.why;
  add_others(facts, choice);
  return facts;
}

CallExplanation explain_named(const ChosenMachine& chosen, const ExplainedCall& call,
                              const std::string& spec, const std::vector<std::string>& compare) {
  std::vector<std::string> specs = {spec};
  specs.insert(specs.end(), compare.begin(), compare.end());
  CallExplanation facts = explain_call(chosen.machine, chosen.name, call, specs);
  if (!compare.empty()) return facts;
  const PredictedChoice choice = choose_for(chosen.machine, call, false);
  if (choice.spec == facts.plans.front().spec) {
    facts.chosen_because = "what auto takes here, too: " + choice.why;
    return facts;
  }
  facts.alternatives.push_back({choice.spec, choice.seconds, "what auto takes here"});
  return facts;
}

void run(const Arguments& arguments) {
  const ChosenMachine chosen = chosen_machine(arguments.machine);
  const ChosenCall asked = chosen_call(arguments.call, chosen.machine.gpus());
  const ExplainedCall call = explained_call(asked, size_in_bytes("--size", arguments.size));
  for (const auto& spec : arguments.compare) check_spec(spec, asked.request);
  if (arguments.algorithm != "auto") check_spec(arguments.algorithm, asked.request);
  const CallExplanation facts =
      arguments.algorithm == "auto"
          ? explain_choice(chosen, call, arguments.compare)
          : explain_named(chosen, call, arguments.algorithm, arguments.compare);
  print(arguments.format == "json" ? explanation_json(facts)
                                   : machine_heading(chosen) + "\n" + explanation_text(facts));
}

}  // namespace

void add_explain_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "explain", "Say in words what an algorithm does on a machine and what limits it");
  command->footer(
      "Times are simulated; bounds hold for every plan whatever.\n"
      "Examples:\n"
      "  ringside explain --topo 4gpu-pcie4-two-switches --algorithm naive --size 45M\n"
      "  ringside explain --topo 4gpu-pcie4-two-switches --algorithm ring:order=0-1-3-2 \\\n"
      "      --compare ring:order=0-2-1-3\n"
      "  ringside explain --topo box.txt --what-if p2p=off");
  const auto arguments = std::make_shared<Arguments>();
  add_machine_options(*command, arguments->machine);
  command
      ->add_option("--algorithm", arguments->algorithm,
                   "A spec string (ring:slices=8), a plan file, or auto (default):\n"
                   "what the twin predicts to be the fastest")
      ->type_name("SPEC|FILE.json");
  command
      ->add_option("--compare", arguments->compare,
                   "Another one, and what sets the two apart; may be given again")
      ->type_name("SPEC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--size", arguments->size, "Bytes of a rank's longest buffer (default: 64M)")
      ->type_name("SIZE");
  add_call_options(*command, arguments->call);
  add_format_option(*command, arguments->format, {"text", "json"});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace ringside::cli
