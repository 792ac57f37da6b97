// SPDX-License-Identifier: MIT
/// The call that a command of the twin is about: which collective, on which GPUs, of which type.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/collectives/reduction/types.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside::cli {

/// The words of the command line, before they are understood.
struct CallArguments {
  std::string collective = "all_reduce", ranks, root = "0", type = "float32";
  std::optional<std::string> gpus;
  bool in_place = false;
};

/// Adds --collective, --ranks, --gpus, --root, --in-place and --type. `arguments` must outlive the
/// parsing.
void add_call_options(CLI::App& command, CallArguments& arguments);

struct ChosenCall {
  Request request;
  std::vector<int> gpus;  ///< of each rank
  ElementType type = ElementType::float32;
};

/// On a machine with so many GPUs. Throws Error(bad_input), also for barrier, which moves nothing.
[[nodiscard]] ChosenCall chosen_call(const CallArguments& arguments, int gpus);
/// Throws Error(bad_input): so few bytes are no message.
[[noreturn]] void fail_as_empty(std::string_view option, std::uint64_t bytes,
                                const ChosenCall& call);

/// Throws for a spec from outside (a plan file, a plug-in's) that is refuted: what it would take
/// says nothing. Error(bad_input) or Error(unsupported) where the spec cannot serve the request.
void check_spec(const std::string& text, const Request& request);

}  // namespace ringside::cli
