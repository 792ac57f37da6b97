// SPDX-License-Identifier: MIT
/// The `ringside` program: reads the command line, runs one command, and gives every failure the
/// same form: one line on standard error and an exit code.
///
/// Exit codes: 0; 1 for a finding or a mismatch; 2 for bad usage, bad input or a failing system.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>  // whole: the library has no compiled part, and one file must hold it
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "ringside/base/environment.hpp"
#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/plugin/plugin.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/output.hpp"
#include "ringside/tools/cli/visible.hpp"

namespace ringside::cli {
namespace {

constexpr int exit_failure = 2;

/// A message made fit for one line of a terminal: control characters as escapes, and not endless.
std::string one_line(std::string_view message) {
  constexpr std::size_t longest = 2000;
  std::string line;
  for (const char c : message.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      line += "\\n";
    else if (byte < 0x20 || byte == 0x7f)
      line += fmt::format("\\x{:02x}", byte);
    else
      line += c;
  }
  if (message.size() > longest) line += "...";
  return visible(line);
}

/// Under mpirun most failures are shared by all processes: the first tells, and then its launcher
/// ends the others, which tell what has not ended the job by then.
void let_the_first_tell() {
  constexpr std::chrono::milliseconds patience(3000);
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const auto rank = parse_int(environment_text(variable)); rank && *rank > 0)
      return std::this_thread::sleep_for(patience);
}

int fail(std::string_view message) {
  let_the_first_tell();
  std::fflush(stdout);  // what was printed came first
  const std::string line = fmt::format("ringside: {}\n", one_line(message));
  std::fwrite(line.data(), 1, line.size(), stderr);
  return exit_failure;
}

/// True when standard output is a pipe whose reader has gone, as in `ringside ... | head`.
bool reader_left() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

/// A descriptor closed by the caller (`>&-`) would be given to the next file we open, and our
/// output would go there. Opened the wrong way round, its use is an error, as it should be.
void occupy_closed_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF)
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void add_commands(CLI::App& app, int& exit_code) {
  add_plan_command(app, exit_code);
  add_algorithms_command(app);
#ifdef RINGSIDE_WITH_BENCH
  add_bench_command(app, exit_code);
  add_simulate_command(app);
  add_choose_command(app);
#endif
  add_explain_command(app);
  add_diagnose_command(app, exit_code);
  add_topo_command(app, exit_code);
#ifdef RINGSIDE_WITH_TRAINER
  add_train_command(app);
#endif
  add_report_command(app);
  add_options_command(app, exit_code);
}

/// Every command takes --set, so that it may stand before and after the command's name. Some have
/// their own, which takes more (machine_options.hpp).
void add_set_option(CLI::App& app) {
  if (app.get_option_no_throw("--set") != nullptr) return;
  app.add_option_function<std::vector<std::string>>(
         "--set",
         [](const std::vector<std::string>& assignments) {
           for (const auto& assignment : assignments) set_option(assignment);
         },
         "Set an option of the library, as `ringside options` lists them")
      ->type_name("OPTION=VALUE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

/// Every command takes --plugin, as it takes --set: algorithms are named in most.
void add_plugin_option(CLI::App& app) {
  app.add_option_function<std::vector<std::string>>(
         "--plugin",
         [](const std::vector<std::string>& paths) {
           for (const auto& path : paths) (void)load_plugin(path);
         },
         "Load a shared object with algorithms (see ringside_algorithm.h)")
      ->type_name("PATH")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

/// What a command was given and does not take.
std::string unexpected(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) return fmt::format("{} is one word too many", quote(word));
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return fmt::format("there is no option {}{}", quote(word),
                     did_you_mean(word, std::vector<std::string_view>(names.begin(), names.end())));
}

/// The parser's complaint about an option in our words; its own where we have none.
std::string complaint(const CLI::App& command, const CLI::ParseError& error) {
  std::string text = error.what();
  const std::string name = text.substr(0, text.find_first_of(": "));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (text.ends_with("override")) return fmt::format("--{} takes no value", name);
    if (!text.ends_with("missing")) return fmt::format("{} is there more than once", name);
    const CLI::Option* option = command.get_option_no_throw(name);
    const auto value = option == nullptr ? std::string() : option->get_type_name();
    return fmt::format("{} needs a value{}{}", name, value.empty() ? "" : ": ", value);
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return fmt::format("{} and {} exclude each other", name, text.substr(text.rfind(' ') + 1));
  return text;
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  if (!chosen.empty()) {
    const CLI::App& command = *chosen.front();
    const auto words = command.remaining();
    const bool extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !words.empty();
    return fmt::format("{} (see ringside {} --help)",
                       extras ? unexpected(command, words.front()) : complaint(command, error),
                       command.get_name());
  }
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.emplace_back(command->get_name());
  const auto words = app.remaining();
  if (words.empty()) return fmt::format("{} (see ringside --help)", complaint(app, error));
  if (words.front().starts_with('-'))
    return fmt::format("there is no option {} (see ringside --help)", quote(words.front()));
  const auto guess = did_you_mean(words.front(), names);
  return fmt::format("there is no command {}{}", quote(words.front()),
                     guess.empty() ? " (see ringside --help)" : guess);
}

/// Parses and runs. Throws what the command throws.
int run(int argc, char** argv) {
  int exit_code = 0;
  CLI::App app("Collective communication as plans: written once, proven, explained, measured.",
               "ringside");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ringside " RINGSIDE_VERSION, "Print the version and exit");
  app.footer("Exit codes: 0; 1 for a finding or a mismatch; 2 for bad usage or bad input.");
  app.get_formatter()->column_width(32);
  add_commands(app, exit_code);
  const auto add_common_options = [](CLI::App& to) {
    add_set_option(to);
    add_plugin_option(to);
  };
  add_common_options(app);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    add_common_options(*command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    print(fmt::format("{}\n", version.what()));
  } catch (const CLI::Success&) {
    print(app.help());
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorCode::bad_input, usage_error(app, error));
  }
  return exit_code;
}

int run_guarded(int argc, char** argv) {
  try {
    const int exit_code = run(argc, argv);
    std::cout.flush();
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) {
      if (reader_left()) return exit_code;
      return fail(errno == 0 ? "cannot write standard output"
                             : fmt::format("cannot write standard output: {}",
                                           to_lower(std::generic_category().message(errno))));
    }
    return exit_code;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io && reader_left()) return 0;
    return fail(error.what());
  } catch (const std::bad_alloc&) {
    return fail("out of memory");
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::broken_pipe && reader_left()) return 0;
    return fail(error.what());
  } catch (const std::exception& error) {
    return fail(fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace
}  // namespace ringside::cli

int main(int argc, char** argv) {
  ringside::cli::occupy_closed_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves is noticed where we write
  return ringside::cli::run_guarded(argc, argv);
}
