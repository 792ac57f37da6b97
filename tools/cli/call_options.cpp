// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/call_options.hpp"

#include <fmt/format.h>

#include <numeric>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/plan_cache.hpp"
#include "ringside/tools/cli/option_values.hpp"

namespace ringside::cli {
namespace {

std::vector<int> first_gpus(int count) {
  std::vector<int> gpus(static_cast<std::size_t>(count));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

std::vector<int> listed_gpus(const std::string& text, int gpus) {
  const auto given = parse_ranks(text, ',');
  if (!given) reject("--gpus", "the GPU of every rank, as in 0,1,4,5", text);
  for (const int gpu : *given)
    if (gpu >= gpus)
      throw Error(ErrorCode::bad_input,
                  fmt::format("--gpus: there is no GPU {}: the machine has {}", gpu, gpus));
  return *given;
}

std::vector<int> read_gpus(const CallArguments& arguments, int gpus) {
  if (arguments.gpus && !arguments.ranks.empty())
    throw Error(ErrorCode::bad_input,
                "--gpus names the GPU of every rank: it goes with no --ranks");
  if (arguments.gpus) return listed_gpus(*arguments.gpus, gpus);
  if (arguments.ranks.empty()) return first_gpus(gpus);
  const auto ranks = static_cast<int>(whole_number("--ranks", arguments.ranks, 1, max_ranks));
  if (ranks > gpus)
    throw Error(ErrorCode::bad_input,
                fmt::format("--ranks: {} ranks on {} GPUs: say with --gpus which share one, as in "
                            "--gpus 0,0,1,1",
                            ranks, gpus));
  return first_gpus(ranks);
}

Request read_request(const CallArguments& arguments, int ranks) {
  const Collective collective = collective_named("--collective", arguments.collective);
  if (collective == Collective::barrier)
    throw Error(ErrorCode::bad_input, "--collective: a barrier moves no data");
  const auto root = static_cast<int>(whole_number("--root", arguments.root, 0, ranks - 1));
  if (root != 0 && !has_root(collective))
    throw Error(ErrorCode::bad_input, fmt::format("--root: {} has no root", to_string(collective)));
  const Request request{collective, ranks, root, arguments.in_place};
  validate(request);
  return request;
}

}  // namespace

void add_call_options(CLI::App& command, CallArguments& arguments) {
  command
      .add_option("--collective", arguments.collective,
                  "all_reduce (default), reduce_scatter, all_gather,\n"
                  "broadcast, reduce, gather, scatter or all_to_all")
      ->type_name("WORD");
  command
      .add_option("--ranks", arguments.ranks,
                  "Number of ranks, on the first GPUs (default: all GPUs)")
      ->type_name("N");
  command
      .add_option("--gpus", arguments.gpus,
                  "The GPU of every rank instead, as in 0,1,4,5; one may\n"
                  "stand there more than once")
      ->type_name("LIST");
  command.add_option("--root", arguments.root, "Root of the collective, where it has one (0)")
      ->type_name("RANK");
  add_switch(command, "--in-place", arguments.in_place, "Input and output are the same memory");
  command.add_option("--type", arguments.type, "Element type (default: float32)")
      ->type_name("WORD");
}

ChosenCall chosen_call(const CallArguments& arguments, int gpus) {
  ChosenCall chosen;
  chosen.gpus = read_gpus(arguments, gpus);
  chosen.request = read_request(arguments, static_cast<int>(chosen.gpus.size()));
  const auto type = parse_element_type(arguments.type);
  if (!type) reject("--type", "an element type such as float32 or half", arguments.type);
  chosen.type = *type;
  if (chosen.request.ranks < 2)
    throw Error(ErrorCode::bad_input,
                "a single rank sends nothing: name more GPUs with --ranks or --gpus");
  return chosen;
}

void fail_as_empty(std::string_view option, std::uint64_t bytes, const ChosenCall& call) {
  throw Error(
      ErrorCode::bad_input,
      fmt::format("{}: of {} there is no element of {} ({}) for every block", option,
                  format_bytes(bytes), to_string(call.type), format_bytes(size_of(call.type))));
}

void check_spec(const std::string& text, const Request& request) {
  const Spec spec = parse_spec(text);
  if (spec.name == "all" || spec.name == "auto")
    throw Error(ErrorCode::bad_input, fmt::format("{}: a single algorithm is wanted", spec.name));
  if (is_plan_file(spec.name) || !find_algorithm(spec.name).origin.empty()) {
    PlanCache proven;
    (void)proven.get(text, request, {.limit = option<Seconds>("timeout")});
  } else {
    (void)make_algorithm(spec, request);
  }
}

}  // namespace ringside::cli
