// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/rules.hpp"

namespace ringside {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      acs_redirect_rule(),
  };
  return all;
}

std::vector<Diagnosis> apply(const Rule& rule, const Evidence& evidence) {
  if (rule.find == nullptr) return {};
  auto found = rule.find(evidence);
  for (auto& diagnosis : found) {
    diagnosis.id = rule.id;
    if (diagnosis.title.empty()) diagnosis.title = rule.title;
    diagnosis.source = rule.source;
  }
  return found;
}

}  // namespace ringside
