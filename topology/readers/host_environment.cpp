// SPDX-License-Identifier: MIT
/// Variables of the environment, as they are set or printed. Only lines that begin with one count:
/// people also write about variables that they did not set.
#include <algorithm>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/host_facts.hpp"

namespace ringside {
namespace {

bool is_variable_of_interest(std::string_view name) {
  return (name.starts_with("NCCL_") || name == "CUDA_VISIBLE_DEVICES") &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

std::string_view without_quotes(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
      value.back() == value.front())
    return value.substr(1, value.size() - 2);
  return value;
}

/// What stands before the # of "root@box:~# " or "/ # ": nothing makes it a comment.
bool is_prompt_of_root(std::string_view before) {
  if (before.empty()) return false;
  return before.back() != ' ' || before.front() == '/' || before.front() == '~';
}

/// Without a shell's prompt before and the words that set variables.
std::string_view command_of(std::string_view line) {
  line = trim(line);
  for (const std::string_view prompt : {"$ ", "# "})
    if (const auto at = line.find(prompt); at < 60) {  // npos is not
      if (prompt == "# " && !is_prompt_of_root(line.substr(0, at))) break;
      line = trim(line.substr(at + prompt.size()));
      break;
    }
  for (const std::string_view word : {"export ", "env "})
    if (line.starts_with(word)) line = trim(line.substr(word.size()));
  return line;
}

}  // namespace

void read_environment(const Text& text, std::size_t at, std::vector<HostFact>& facts) {
  const std::string_view line = text.lines[at].text;
  if (line.find("NCCL_") == std::string_view::npos && line.find("CUDA_V") == std::string_view::npos)
    return;
  const auto words = split_blanks(command_of(line));
  if (!words.empty() && words.front() == "unset") {
    for (const auto word : words)
      if (is_variable_of_interest(word))
        facts.push_back({HostFactKind::environment, std::string(word), "", text.lines[at].number});
    return;
  }
  for (const auto word : words) {
    const auto equals = word.find('=');
    if (equals == std::string_view::npos || !is_variable_of_interest(word.substr(0, equals)))
      return;
    facts.push_back({HostFactKind::environment, std::string(word.substr(0, equals)),
                     std::string(without_quotes(word.substr(equals + 1))), text.lines[at].number});
  }
}

}  // namespace ringside
