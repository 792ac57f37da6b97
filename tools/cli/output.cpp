// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/tools/cli/visible.hpp"

namespace ringside::cli {
namespace {

[[noreturn]] void fail_to_write(int error) {
  throw Error(ErrorCode::io, fmt::format("cannot write standard output: {}",
                                         to_lower(std::generic_category().message(error))));
}

}  // namespace

void print(std::string_view text) {
  if (has_controls(text)) return print(visible(text));
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_to_write(errno);
}

void flush() {
  if (std::fflush(stdout) != 0) fail_to_write(errno);
}

void warn_of_unknown_variables() {
  for (const auto& [variable, suggestion] : unknown_option_variables())
    fmt::print(stderr, "ringside: warning: {} is set, but is no option's variable{}\n", variable,
               suggestion.empty() ? "" : fmt::format(" (did you mean {}?)", suggestion));
}

}  // namespace ringside::cli
