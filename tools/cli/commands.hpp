// SPDX-License-Identifier: MIT
/// The subcommands of the `ringside` program. Each adds itself to the application and runs when it
/// was named.
///
/// A command prints its result (output.hpp) and reports what it cannot do by throwing Error, which
/// main() turns into one line and exit code 2. It sets `exit_code` to 1 for a finding or a mismatch
/// and leaves it alone otherwise.
#pragma once

#include <CLI/App.hpp>

namespace ringside::cli {

void add_algorithms_command(CLI::App& app);
void add_bench_command(CLI::App& app, int& exit_code);
void add_choose_command(CLI::App& app);
void add_diagnose_command(CLI::App& app, int& exit_code);
void add_explain_command(CLI::App& app);
void add_options_command(CLI::App& app, int& exit_code);
void add_plan_command(CLI::App& app, int& exit_code);
void add_report_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
void add_topo_command(CLI::App& app, int& exit_code);
void add_train_command(CLI::App& app);

}  // namespace ringside::cli
