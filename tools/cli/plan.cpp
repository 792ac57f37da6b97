// SPDX-License-Identifier: MIT
/// `ringside plan`: writes an algorithm's plan, or reads one from a file, and shows, proves, counts
/// or converts it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/lower.hpp"
#include "ringside/collectives/plan_io.hpp"
#include "ringside/collectives/plugin/plan_file.hpp"
#include "ringside/collectives/selector/choice.hpp"
#include "ringside/collectives/spec.hpp"
#include "ringside/collectives/stored_plan.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/machine_options.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/tools/cli/output.hpp"
#include "ringside/tools/cli/plan_report.hpp"
#include "ringside/tools/report/plan_drawing.hpp"
#include "ringside/tools/report/plan_page.hpp"
#include "ringside/tools/report/plan_story.hpp"

namespace ringside::cli {
namespace {

constexpr int most_ranks = 4096;
/// Deriving the waits takes 4 bytes an op and stream (1 GB at most, which is a ring of 500 ranks),
/// counting the steps some ns an op and slice.
constexpr std::size_t most_work = 250'000'000;

struct Arguments {
  std::string plan;
  std::string ranks, collective, root;
  bool in_place = false;
  bool show = false, prove = false, cost = false;
  std::string bytes = "64M";
  std::string access = "direct";
  std::string topology;
  std::string format;
};

bool is_file(std::string_view argument) { return argument == "-" || is_plan_file(argument); }

/// What the options say of the request; absent where they say nothing.
struct Wanted {
  std::optional<int> ranks, root;
  std::optional<Collective> collective;
};

Wanted read_wanted(const Arguments& arguments) {
  Wanted wanted;
  if (!arguments.ranks.empty())
    wanted.ranks = static_cast<int>(whole_number("--ranks", arguments.ranks, 1, most_ranks));
  if (!arguments.root.empty())
    wanted.root = static_cast<int>(whole_number("--root", arguments.root, 0, most_ranks - 1));
  if (!arguments.collective.empty())
    wanted.collective = collective_named("--collective", arguments.collective);
  return wanted;
}

/// Throws Error(unsupported) for a plan too large to look at.
void check_size(const Plan& plan) {
  const Shape& shape = plan.shape();
  const auto per_op = static_cast<std::size_t>(std::max(plan.ranks() * shape.lanes, shape.slices));
  if (plan.size() > most_work / per_op)
    throw Error(ErrorCode::unsupported,
                fmt::format("{} on {} ranks has more ops than this command looks at ({})",
                            plan.spec(), plan.ranks(), most_work / per_op));
}

Plan plan_from_spec(const Arguments& arguments, const Wanted& wanted) {
  if (!wanted.ranks)
    throw Error(ErrorCode::bad_input, "--ranks is required: for how many ranks is the plan?");
  const Request request{.collective = wanted.collective.value_or(Collective::all_reduce),
                        .ranks = *wanted.ranks,
                        .root = wanted.root.value_or(0),
                        .in_place = arguments.in_place};
  const std::string spec = arguments.plan == "auto"
                               ? choose(*tuning_in_use(), {"host", allowed_cpu_count()}, request,
                                        size_in_bytes("--bytes", arguments.bytes))
                                     .spec
                               : arguments.plan;
  return *stored_plan(parse_spec(spec), request, [](const Plan& so_far, const Op& /*op*/) {
    check_size(so_far);
    return true;
  });
}

Plan plan_from_file(const Arguments& arguments, const Wanted& wanted) {
  const auto refuse = [&](std::string_view why) {
    const std::string name =
        arguments.plan == "-" ? "standard input" : quote(arguments.plan, longest_path);
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", name, why));
  };
  Plan plan = read_plan_file(arguments.plan);
  const Request& request = plan.request();
  if (wanted.ranks && *wanted.ranks != request.ranks)
    refuse(
        fmt::format("the plan is for {} ranks, not for --ranks {}", request.ranks, *wanted.ranks));
  if (wanted.collective && *wanted.collective != request.collective)
    refuse(fmt::format("the plan is for {}, not for --collective {}", to_string(request.collective),
                       to_string(*wanted.collective)));
  if (wanted.root && *wanted.root != request.root)
    refuse(fmt::format("the plan has root {}, not --root {}", request.root, *wanted.root));
  if (arguments.in_place && !request.in_place)
    refuse("the plan is for out of place, not --in-place");
  return plan;
}

Access read_access(std::string_view word) {
  if (word == "copy_only") return Access::copy_only;
  return word == "none" ? Access::none : Access::direct;
}

/// The plan as a machine with that access between any two ranks would run it.
Plan lowered(Plan plan, Access access) {
  if (access == Access::direct) return plan;
  const auto ranks = static_cast<std::size_t>(plan.ranks());
  return lower(plan, AccessMatrix(ranks, std::vector<Access>(ranks, access)));
}

bool is_picture(const Arguments& arguments) {
  return arguments.format == "svg" || arguments.format == "html";
}

void check_views(const Arguments& arguments) {
  const bool other_view = arguments.show || arguments.prove || arguments.cost;
  if (arguments.show + arguments.prove + arguments.cost > 1)
    throw Error(ErrorCode::bad_input, "--show, --prove and --cost: choose one");
  if ((arguments.format == "dot" || is_picture(arguments)) && other_view)
    throw Error(ErrorCode::bad_input,
                fmt::format("--format {} draws the plan: it goes with no --show, --prove or --cost",
                            arguments.format));
  if (!arguments.topology.empty() && !is_picture(arguments))
    throw Error(ErrorCode::bad_input,
                "--topo is where --format svg and html show the plan: it goes with these");
  if (arguments.format == "json" && arguments.show)
    throw Error(ErrorCode::bad_input, "--show is for people: it has no --format json");
}

/// The plan step by step, over a machine if one is named.
std::string animation(const Arguments& arguments, const Plan& plan, std::uint64_t bytes) {
  check_structure(plan);
  std::optional<ChosenMachine> chosen;
  if (!arguments.topology.empty()) {
    MachineArguments machine;
    machine.topology = {arguments.topology};
    chosen = chosen_machine(machine);
  }
  const Machine* machine = chosen ? &chosen->machine : nullptr;
  auto story = report::story_of(plan, machine, static_cast<double>(bytes));
  if (chosen) story.machine = chosen->name;
  const bool file = arguments.format == "svg";
  const auto drawing = report::draw_story(story, chosen ? &machine->topology() : nullptr,
                                          file ? report::Colours::plain : report::Colours::page);
  return file ? drawing.svg : report::plan_page(story, drawing);
}

int run(const Arguments& arguments) {
  check_views(arguments);
  const std::uint64_t bytes = size_in_bytes("--bytes", arguments.bytes);
  const Wanted wanted = read_wanted(arguments);
  const Plan plan = lowered(is_file(arguments.plan) ? plan_from_file(arguments, wanted)
                                                    : plan_from_spec(arguments, wanted),
                            read_access(arguments.access));
  check_size(plan);
  const bool json = arguments.format == "json";
  if (arguments.format == "dot") return print(plan_to_dot(plan)), 0;
  if (is_picture(arguments)) return print(animation(arguments, plan, bytes)), 0;
  if (arguments.prove) {
    const Proof proof = prove(plan);
    print(json ? proof_json(plan, proof) : proof_text(plan, proof));
    return proof.holds() ? 0 : 1;
  }
  if (arguments.cost) {
    const Cost cost = count_cost(plan, bytes);
    print(json ? cost_json(plan, cost, bytes) : cost_text(plan, cost, bytes));
    return 0;
  }
  if (json) return print(plan_to_json(plan)), 0;

  const auto proof =
      plan.ranks() <= max_proven_ranks ? std::optional<Proof>(prove(plan)) : std::nullopt;
  const bool refuted = proof && !proof->holds();
  if (arguments.show)
    print(show_plan(plan) + (refuted ? proof_text(plan, *proof) : ""));
  else
    print(page_text(plan, proof ? &*proof : nullptr, count_cost(plan, bytes), bytes));
  return refuted ? 1 : 0;
}

}  // namespace

void add_plan_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "plan", "Show, prove, count or convert a plan, from an algorithm or a file");
  command->footer(
      "Without --show, --prove or --cost: a page with the prover's verdict and the cost.\n"
      "Exit code 1 when the plan is refuted (bench, which cannot run it: 2).\n"
      "Examples:\n"
      "  ringside plan ring --ranks 4\n"
      "  ringside plan hierarchical:groups=0-1/2-3 --ranks 4 --show\n"
      "  ringside plan ring --ranks 4 --format json > ring4.json\n"
      "  ringside plan ring4.json --prove\n"
      "  ringside plan naive --ranks 4 --format html > naive.html     # step by step, to watch");
  const auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("PLAN", arguments->plan,
                   "A spec string (ring:slices=8), auto, a plan file (its name\n"
                   "has a '.' or '/'), or - for a plan on standard input")
      ->required()
      ->type_name("SPEC|FILE.json|-");
  command->add_option("--ranks", arguments->ranks, "Number of ranks; a file names its own")
      ->type_name("N");
  command
      ->add_option("--collective", arguments->collective,
                   "all_reduce (default), reduce_scatter, all_gather,\n"
                   "broadcast, reduce, gather, scatter, all_to_all or barrier")
      ->type_name("WORD");
  command->add_option("--root", arguments->root, "Root of the collective, where it has one")
      ->type_name("RANK");
  add_switch(*command, "--in-place", arguments->in_place, "Input and output are the same memory");
  add_switch(*command, "--show", arguments->show, "Draw the data after every step");
  add_switch(*command, "--prove", arguments->prove,
             "Only the prover's verdict and what it derives");
  add_switch(*command, "--cost", arguments->cost, "Steps, and bytes per rank and link");
  command
      ->add_option("--bytes", arguments->bytes,
                   "Size of the message whose cost is counted, of float32\n"
                   "(default: 64M)")
      ->type_name("SIZE");
  const std::vector<std::string> accesses = {"direct", "copy_only", "none"};
  command
      ->add_option("--access", arguments->access,
                   "What ranks may do with each other's memory: direct\n"
                   "(default), copy_only or none; copies make up for the rest")
      ->type_name("WORD")
      ->check([accesses](const std::string& word) {
        if (std::find(accesses.begin(), accesses.end(), word) != accesses.end())
          return std::string();
        return fmt::format("expected direct, copy_only or none, got {}", quote(word));
      });
  command
      ->add_option("--topo", arguments->topology,
                   "With --format svg or html: the machine that the data move\n"
                   "over, rank i on its GPU i (see ringside topo)")
      ->type_name("PRESET|FILE");
  add_format_option(*command, arguments->format, {"text", "json", "dot", "svg", "html"});
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace ringside::cli
