// SPDX-License-Identifier: MIT
/// Every rule on an input where it must fire, with the right certainty, and on a near miss.
///
/// A case is a folder or file in tests/data/diagnose/rules named after the rule and what it shows:
/// `d01-certain-switch.txt` is evidence in which D01 must be certain; `d01-never-srcvalid.txt` is a
/// near miss, in which D01 must not be found at all. A folder's files are one machine's evidence.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ringside/base/text.hpp"
#include "ringside/tests/topology/diagnose/cases.hpp"
#include "ringside/topology/diagnose/diagnose.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string id;       ///< "D01"
  std::string verdict;  ///< "certain", "likely", "possible", "never"
  fs::path path;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& entry : fs::directory_iterator(data_folder() / "diagnose/rules")) {
    const auto name = entry.path().filename().string();
    const auto words = split(name, '-');
    if (words.size() < 3) throw std::runtime_error("a case is named RULE-VERDICT-WHAT: " + name);
    cases.push_back({to_upper(words[0]), std::string(words[1]), entry.path()});
  }
  std::ranges::sort(cases, {}, &Case::path);
  return cases;
}

/// Where a figure of a rate stands, it is said where it comes from.
bool labels_its_numbers(const std::string& text) {
  const bool has_figure = text.find("GB/s") != std::string::npos;
  return !has_figure || text.find("measured") != std::string::npos ||
         text.find("predicted") != std::string::npos;
}

class RuleCase : public testing::TestWithParam<Case> {};

TEST_P(RuleCase, FiresAsItsNameSays) {
  const auto& [id, verdict, path] = GetParam();
  const auto rule = std::ranges::find(rules(), id, &Rule::id);
  ASSERT_NE(rule, rules().end());
  const auto found = apply(*rule, evidence_in(path));
  if (verdict == "never") {
    EXPECT_TRUE(found.empty()) << to_string(found.front().certainty) << ": " << found.front().why;
    return;
  }
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(to_string(found.front().certainty), verdict) << found.front().why;
  for (const auto& diagnosis : found) {
    EXPECT_FALSE(diagnosis.why.empty());
    EXPECT_FALSE(diagnosis.fix.empty());
    EXPECT_TRUE(labels_its_numbers(diagnosis.why)) << diagnosis.why;
    EXPECT_TRUE(labels_its_numbers(diagnosis.fix)) << diagnosis.fix;
    if (diagnosis.certainty != Certainty::certain) {
      EXPECT_FALSE(diagnosis.confirm.empty()) << "what is not certain needs a check";
    }
    for (const auto& line : diagnosis.shown) EXPECT_FALSE(line.text.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Diagnose, RuleCase, testing::ValuesIn(all_cases()), [](const auto& param) {
  std::string name = param.param.path.stem().string();
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(Rules, EachThatLooksAtTextHasACaseWhereItFiresAndANearMiss) {
  std::map<std::string, std::set<std::string>, std::less<>> verdicts;
  for (const auto& each : all_cases()) verdicts[each.id].insert(each.verdict);
  for (const auto& rule : rules()) {
    if (rule.find == nullptr) continue;
    const auto known = verdicts.find(rule.id);
    ASSERT_NE(known, verdicts.end()) << rule.id << " has no case";
    EXPECT_TRUE(known->second.contains("never")) << rule.id << " has no near miss";
    EXPECT_GE(known->second.size(), 2U) << rule.id << " never fires";
  }
}

TEST(Rules, AreListedInTheOrderOfTheirIds) {
  for (std::size_t i = 1; i < rules().size(); ++i) EXPECT_LT(rules()[i - 1].id, rules()[i].id);
  for (const auto& rule : rules()) {
    EXPECT_FALSE(rule.title.empty());
    EXPECT_FALSE(rule.source.empty());
    EXPECT_NE(rule.find == nullptr, rule.undecidable.empty()) << rule.id;
  }
}

}  // namespace
}  // namespace ringside::tests
