// SPDX-License-Identifier: MIT
/// `ringside report`: a page of charts from what other commands wrote.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/target_file.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/output.hpp"
#include "ringside/tools/report/page.hpp"
#include "ringside/tools/report/read_runs.hpp"

namespace ringside::cli {
namespace {

/// More is no page.
constexpr std::size_t most_files = 100;

struct Arguments {
  std::vector<std::string> files;
  std::string output;
};

std::string now_in_words() {
  return fmt::format(
      "{:%Y-%m-%d %H:%M} UTC",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

void run(const Arguments& arguments) {
  if (const auto reason = report::why_no_report(); !reason.empty())
    throw Error(ErrorCode::unsupported, reason);
  if (arguments.files.size() > most_files)
    throw Error(ErrorCode::bad_input,
                fmt::format("a report is made of at most {} files", most_files));
  if (std::ranges::count(arguments.files, "-") > 1)
    throw Error(ErrorCode::bad_input, "standard input (-) can be read once");
  if (arguments.output != "-") check_writable(arguments.output);
  report::Runs runs;
  for (const auto& file : arguments.files)
    report::read_run(read_file(file), file == "-" ? "standard input" : file, runs);
  const auto page =
      report::report_page(runs, {.version = RINGSIDE_VERSION, .made = now_in_words()});
  if (arguments.output == "-")
    print(page);
  else
    write_file(arguments.output, page);
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto* command = app.add_subcommand("report", "One page of charts from what other commands wrote");
  command->footer(
      "The page needs no network and no other file. What is read: the JSON of bench (also\n"
      "--preflight and --compare), simulate (--links adds the machine), simulate --timeline,\n"
      "train (also --compare and --on), diagnose, topo, and of nccl-tests; in any mix. "
      "docs/report.md\n"
      "Examples:\n"
      "  ringside bench --ranks 2 --compare openmpi --format json > host.json\n"
      "  ringside simulate --topo 4gpu-pcie4-two-switches --links --format json > box.json\n"
      "  ringside report host.json box.json -o report.html");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("RUN", arguments->files, "Files of JSON, or - for standard input")
      ->required()
      ->type_name("RUN.json");
  command
      ->add_option("-o,--output", arguments->output,
                   "The page; a file that is there is replaced in one step;\n"
                   "- for standard output")
      ->required()
      ->type_name("FILE.html");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace ringside::cli
