// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/host_facts.hpp"

#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr std::size_t most_facts = 10'000;  // more tell nothing new

}  // namespace

std::vector<Reading> read_host_facts(const Text& text) {
  HostFacts host;
  for (std::size_t at = 0; at < text.lines.size() && host.facts.size() < most_facts; ++at)
    for (const auto read : {read_kernel_parameters, read_memory_limits, read_processors,
                            read_environment, read_kernel_messages})
      read(text, at, host.facts);
  std::vector<Reading> readings;
  if (host.facts.empty()) return readings;
  readings.push_back(Reading{.reader = "the host",
                             .source = {},
                             .first_line = host.facts.front().line,
                             .last_line = host.facts.back().line,
                             .facts = {},
                             .findings = {}});
  readings.back().facts = std::move(host);
  return readings;
}

}  // namespace ringside
