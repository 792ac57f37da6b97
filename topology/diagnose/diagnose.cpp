// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/diagnose.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <tuple>

namespace ringside {
namespace {

void drop_explained(std::vector<Diagnosis>& found) {
  std::set<std::string> explained;
  for (const auto& diagnosis : found)
    explained.insert(diagnosis.explains.begin(), diagnosis.explains.end());
  std::erase_if(found, [&](const Diagnosis& each) { return explained.contains(each.id); });
}

void sort_by_weight(std::vector<Diagnosis>& found) {
  std::ranges::stable_sort(found, {}, [](const Diagnosis& each) {
    return std::tuple(each.certainty == Certainty::possible, each.harm, each.certainty,
                      -each.slowdown);
  });
}

std::vector<WantedInput> wanted_inputs(const Evidence& evidence, std::span<const Rule> rules,
                                       const std::vector<Diagnosis>& found) {
  std::vector<WantedInput> wanted;
  for (const Input input : all_inputs()) {
    if (evidence.has(input)) continue;
    WantedInput each{.input = input, .decides = {}, .opens = {}};
    for (const auto& diagnosis : found)
      if (diagnosis.certainty != Certainty::certain &&
          std::ranges::find(diagnosis.decided_by, input) != diagnosis.decided_by.end())
        each.decides.push_back(diagnosis.id);
    for (const auto& rule : rules)
      if (rule.find != nullptr && !rule.inputs.empty() && rule.inputs.front() == input)
        each.opens.emplace_back(rule.id);
    if (!each.decides.empty() || !each.opens.empty()) wanted.push_back(std::move(each));
  }
  const bool untold = evidence.nvlink_untold();
  std::ranges::stable_sort(wanted, std::greater{}, [&](const WantedInput& each) {
    return std::tuple(untold && each.input == Input::topology_matrix, each.decides.size(),
                      each.opens.size());
  });
  return wanted;
}

}  // namespace

Diagnoses diagnose(const Evidence& evidence, std::span<const Rule> rules) {
  Diagnoses diagnoses;
  for (const auto& rule : rules)
    std::ranges::move(apply(rule, evidence), std::back_inserter(diagnoses.found));
  drop_explained(diagnoses.found);
  sort_by_weight(diagnoses.found);
  diagnoses.wanted = wanted_inputs(evidence, rules, diagnoses.found);
  return diagnoses;
}

Diagnoses diagnose(const Evidence& evidence) { return diagnose(evidence, rules()); }

bool has_findings(const Diagnoses& diagnoses) {
  return std::ranges::any_of(
      diagnoses.found, [](const Diagnosis& each) { return each.certainty != Certainty::possible; });
}

}  // namespace ringside
