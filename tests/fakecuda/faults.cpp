// SPDX-License-Identifier: MIT
/// Reading the list of planted hardware faults.
#include "ringside/tests/fakecuda/faults.hpp"

#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace ringside::tests::fakecuda {
namespace {

FaultKind kind_of(const std::string& name) {
  if (name == "lost") return FaultKind::lost;
  if (name == "offset") return FaultKind::offset;
  if (name == "corrupt") return FaultKind::corrupt;
  if (name == "hang") return FaultKind::hang;
  if (name == "slow") return FaultKind::slow;
  throw std::invalid_argument("fault '" + name + "': lost, offset, corrupt, hang or slow");
}

}  // namespace

std::vector<HardwareFault> parse_faults(const std::string& text) {
  std::vector<HardwareFault> faults;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto colon = word.find(':');
    std::string name = word.substr(0, colon);
    HardwareFault fault;
    if (!name.empty() && name.back() == '!') {
      fault.staged = true;
      name.pop_back();
    }
    fault.kind = kind_of(name);
    const std::string rest = colon == std::string::npos ? "" : word.substr(colon + 1);
    const int read = std::sscanf(rest.c_str(), "%d-%d:%lf", &fault.from, &fault.to, &fault.factor);
    if (read < (fault.kind == FaultKind::slow ? 3 : 2))
      throw std::invalid_argument("fault '" + word + "': KIND[!]:FROM-TO[:FACTOR]");
    faults.push_back(fault);
  }
  return faults;
}

}  // namespace ringside::tests::fakecuda
