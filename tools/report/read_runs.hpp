// SPDX-License-Identifier: MIT
/// Reading the files that a report is made of.
#pragma once

#include <string>
#include <string_view>

#include "ringside/tools/report/runs.hpp"

namespace ringside::report {

/// Adds what a JSON text says, told by its own fields: `ringside bench` (also --preflight and
/// --compare), `simulate` (also its --timeline), `train` (also --compare and --on), `diagnose` and
/// `topo` with --format json, and the JSON of nccl-tests. `name` is the file, in messages and in
/// the report. Throws Error(bad_input), one line that names file and place, for anything else, and
/// for what is damaged.
void read_run(std::string_view text, const std::string& name, Runs& runs);

/// The kinds in words, for messages.
[[nodiscard]] std::string_view known_kinds();

}  // namespace ringside::report
