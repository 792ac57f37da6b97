// SPDX-License-Identifier: MIT
/// Reading the environment, and the matrix of who can reach whom.
#include "ringside/tests/fakecuda/configuration.hpp"

#include <cstdlib>
#include <stdexcept>

namespace ringside::tests::fakecuda {
namespace {

std::string text_of(const char* variable, const std::string& otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : text;
}

std::size_t number_of(const char* variable, std::size_t otherwise) {
  const std::string text = text_of(variable, std::to_string(otherwise));
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos)
    throw std::invalid_argument(std::string(variable) + "='" + text + "': no number");
  return std::stoull(text);
}

}  // namespace

Configuration configuration_of_environment() {
  Configuration c;
  c.devices = static_cast<int>(number_of("FAKECUDA_DEVICES", static_cast<std::size_t>(c.devices)));
  c.access = text_of("FAKECUDA_ACCESS", c.access);
  c.scheduler = text_of("FAKECUDA_SCHEDULER", c.scheduler);
  c.check = number_of("FAKECUDA_CHECK", 1) != 0;
  c.faults = text_of("FAKECUDA_FAULTS", "");
  c.memory = number_of("FAKECUDA_MEMORY", c.memory);
  return c;
}

std::string kernel_libraries() { return text_of("FAKECUDA_KERNELS", ""); }

bool leaks_wanted() { return number_of("FAKECUDA_LEAKS", 0) != 0; }

bool may_reach(const Configuration& configuration, int from, int to) {
  if (from == to || configuration.access == "none") return false;
  if (configuration.access == "all") return true;
  const auto place = static_cast<std::size_t>(from * (configuration.devices + 1) + to);
  if (place >= configuration.access.size())
    throw std::invalid_argument("access '" + configuration.access +
                                "': all, none, or rows like 01/10");
  return configuration.access[place] == '1';
}

}  // namespace ringside::tests::fakecuda
