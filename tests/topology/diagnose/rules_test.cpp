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

Diagnosis only_finding(std::string_view id, const std::vector<std::string>& texts) {
  std::vector<EvidenceText> given;
  for (const auto& text : texts) given.push_back({std::to_string(given.size()), text});
  const auto found = apply(*std::ranges::find(rules(), id, &Rule::id), read_evidence(given));
  return found.size() == 1 ? found.front() : Diagnosis{};
}

std::string corpus_text(const std::string& file) {
  return read_file((data_folder() / file).string());
}

TEST(Rules, NobodyIsBlamedWhereCudaOnlySaysThatThereIsNoPeerAccess) {
  const auto found = only_finding("D05", {"Device=0 CANNOT Access Peer Device=1\n"
                                          "Device=1 CANNOT Access Peer Device=0\n"
                                          "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n"
                                          "   D\\D     0      1\n"
                                          "     0 800.00  10.00\n"
                                          "     1  10.00 800.00\n",
                                          "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n"});
  EXPECT_NE(found.why.find("not told"), std::string::npos) << found.why;
  EXPECT_EQ(found.fix.find("GeForce"), std::string::npos) << found.fix;
  ASSERT_FALSE(found.shown.empty());
  EXPECT_NE(found.shown.front().text.find("CANNOT"), std::string::npos);
}

TEST(Rules, AmdsCardsGetAmdsCures) {
  for (const char* file :
       {"posted/002-amd-smi-2xr9700-pcie.txt", "posted/010-rocm-smi-access-table.txt"}) {
    const auto found = only_finding("D05", {corpus_text(file)});
    EXPECT_NE(found.fix.find("ROCm"), std::string::npos) << file << ": " << found.fix;
    EXPECT_EQ(found.fix.find("NVIDIA"), std::string::npos) << found.fix;
    EXPECT_FALSE(found.shown.empty()) << file;
  }
}

TEST(Rules, AcsCostsNothingWhereNoPeerAccessGoesThatWay) {
  const auto& rule = *std::ranges::find(rules(), "D01", &Rule::id);
  const auto found = apply(
      rule, evidence_in(data_folder() / "diagnose/rules/d01-certain-risk-without-peer-access"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().harm, Harm::risk);
  EXPECT_TRUE(found.front().mend.empty());
}

TEST(Rules, TheOrderThatIsBestWithoutPeerAccessIsPricedWithoutIt) {
  const auto& rule = *std::ranges::find(rules(), "D13", &Rule::id);
  const auto found = apply(rule, evidence_in(data_folder() / "diagnose/rules/d13-certain-8x3090"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().mend.as_is, std::vector<std::string>{"p2p=off"});
  EXPECT_EQ(found.front().mend.mended, std::vector<std::string>{"p2p=off"});
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
