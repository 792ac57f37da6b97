// SPDX-License-Identifier: MIT
/// Spec strings: what they mean, and what is said about bad ones.
#include "ringside/collectives/spec.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "ringside/base/error.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside {
namespace {

std::string parse_refusal(const std::string& text) {
  return tests::bad_input_of([&] { return parse_spec(text); });
}

TEST(ParseSpec, ReadsNameAndParametersInOrder) {
  EXPECT_EQ(parse_spec("ring"), (Spec{"ring", {}}));
  EXPECT_EQ(parse_spec("ring:order=0-1-3-2,slices=8"),
            (Spec{"ring", {{"order", "0-1-3-2"}, {"slices", "8"}}}));
  EXPECT_EQ(parse_spec("h:groups=0-1/2-3,outer=(ring:order=1-0,slices=2)"),
            (Spec{"h", {{"groups", "0-1/2-3"}, {"outer", "(ring:order=1-0,slices=2)"}}}));
}

TEST(ParseSpec, IsUndoneByToString) {
  for (const char* text : {"ring", "ring:slices=8,order=1-0",
                           "hierarchical:inner=(hierarchical:groups=0/1,inner=naive),outer=ring"})
    EXPECT_EQ(to_string(parse_spec(text)), text);
}

TEST(ParseSpec, RefusesBadOnesWithTheirMistake) {
  const std::string form = "expected NAME or NAME:PARAMETER=VALUE,...";
  EXPECT_EQ(parse_refusal(""), "spec '': " + form);
  EXPECT_EQ(parse_refusal("two shot"), "spec 'two shot': " + form);
  EXPECT_EQ(parse_refusal("ring\n\xff"), "spec 'ring\\n\\xff': " + form);
  EXPECT_EQ(parse_refusal("ring:a=\n,\n"),
            "spec 'ring:a=\\n,\\n': expected PARAMETER=VALUE, not '\\n'");
  EXPECT_EQ(parse_refusal("ring:"), "spec 'ring:': expected PARAMETER=VALUE, not ''");
  EXPECT_EQ(parse_refusal("ring:slices"),
            "spec 'ring:slices': expected PARAMETER=VALUE, not 'slices'");
  EXPECT_EQ(parse_refusal("ring:slices="),
            "spec 'ring:slices=': expected PARAMETER=VALUE, not 'slices='");
  EXPECT_EQ(parse_refusal("ring:slices=2,slices=3"),
            "spec 'ring:slices=2,slices=3': 'slices' is given twice");
  EXPECT_NE(parse_refusal("h:inner=(ring").find("a '(' without its ')'"), std::string::npos);
  EXPECT_NE(parse_refusal("h:inner=ring)").find("a ')' without its '('"), std::string::npos);
}

TEST(ParseSpec, RefusesWhatIsTooLongOrTooDeep) {
  EXPECT_NE(parse_refusal("ring:order=" + std::string(100'000, '0')).find("too long"),
            std::string::npos);
  const std::string deep = "a:b=" + std::string(1000, '(') + std::string(1000, ')');
  EXPECT_NE(parse_refusal(deep).find("parentheses in each other"), std::string::npos);
}

TEST(WithParameters, MakesASpecThatHasThemBehindItsOwn) {
  EXPECT_EQ(with_parameters("ring", "slices=8,lanes=2"), "ring:slices=8,lanes=2");
  EXPECT_EQ(with_parameters("h:inner=(ring:order=1-0)", "slices=8"),
            "h:inner=(ring:order=1-0),slices=8");
  EXPECT_EQ(with_parameters("ring", ""), "ring");
  EXPECT_EQ(with_parameters("./a:b.json", ""), "./a:b.json");
  EXPECT_EQ(tests::bad_input_of([] { return with_parameters("./a.json", "slices=2"); }),
            "spec './a.json': a plan file takes no parameters");
}

TEST(SplitSpecs, TakesACommaBeforeAParameterAsPartOfTheSpec) {
  EXPECT_EQ(split_specs("ring:slices=8,order=1-0,two_shot"),
            (std::vector<std::string>{"ring:slices=8,order=1-0", "two_shot"}));
  EXPECT_EQ(split_specs("naive,h:inner=(ring:order=1-0),outer=ring,chain"),
            (std::vector<std::string>{"naive", "h:inner=(ring:order=1-0),outer=ring", "chain"}));
  EXPECT_EQ(split_specs("ring"), (std::vector<std::string>{"ring"}));
  EXPECT_NE(tests::bad_input_of([] { return split_specs("ring,(two"); }).find("without"),
            std::string::npos);
}

Parameters parameters(const std::string& text) { return Parameters(parse_spec(text)); }

TEST(Parameters, ReadWholeNumbersWithinTheirRange) {
  EXPECT_EQ(parameters("a").integer("slices", 5, 1, 9), 5);
  EXPECT_EQ(parameters("a:slices=9").integer("slices", 5, 1, 9), 9);
  for (const char* bad : {"0", "10", "-1", "1.5", "x", "99999999999", "2 ", "+2"})
    EXPECT_EQ(tests::bad_input_of([&] {
                return parameters(fmt::format("a:slices={}", bad)).integer("slices", 5, 1, 9);
              }),
              fmt::format("a: slices={}: expected a whole number from 1 to 9", bad));
}

TEST(Parameters, ReadChoices) {
  static constexpr std::array<std::string_view, 2> ways = {"pull", "push"};
  EXPECT_EQ(parameters("a").choice("transfer", ways, "pull"), "pull");
  EXPECT_EQ(parameters("a:transfer=push").choice("transfer", ways, "pull"), "push");
  EXPECT_EQ(tests::bad_input_of(
                [] { return parameters("a:transfer=Push").choice("transfer", ways, "pull"); }),
            "a: transfer=Push: expected one of pull, push");
}

TEST(Parameters, ReadOrders) {
  EXPECT_EQ(parameters("a").order("order", 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(parameters("a:order=2-0-1").order("order", 3), (std::vector<int>{2, 0, 1}));
  const auto refused = [](const std::string& order) {
    return tests::bad_input_of([&] { return parameters("a:order=" + order).order("order", 3); });
  };
  EXPECT_EQ(refused("0-1"), "a: order=0-1: it names 2 ranks of 3");
  EXPECT_EQ(refused("0-1-3"), "a: order=0-1-3: there is no rank 3 among 3");
  EXPECT_EQ(refused("0-1-1"), "a: order=0-1-1: rank 1 is there twice");
  EXPECT_EQ(refused("0-1-"), "a: order=0-1-: expected ranks joined by '-', as in 0-1-3-2");
  EXPECT_EQ(refused("0--1"), "a: order=0--1: expected ranks joined by '-', as in 0-1-3-2");
  EXPECT_EQ(refused("0\n"), "a: order=0\\n: expected ranks joined by '-', as in 0-1-3-2");
  EXPECT_LT(refused(std::string(10'000, 'x')).size(), 400u);
  EXPECT_EQ(refused("0-1-99999999999"),
            "a: order=0-1-99999999999: expected ranks joined by '-', as in 0-1-3-2");
}

TEST(Parameters, ReadGroups) {
  using Groups = std::vector<std::vector<int>>;
  EXPECT_EQ(parameters("a").groups("groups", 3), Groups{});
  EXPECT_EQ(parameters("a:groups=0-2/1").groups("groups", 3), (Groups{{0, 2}, {1}}));
  const auto refused = [](const std::string& groups) {
    return tests::bad_input_of(
        [&] { return parameters("a:groups=" + groups).groups("groups", 3); });
  };
  EXPECT_EQ(refused("0-1"), "a: groups=0-1: rank 2 is in no group");
  EXPECT_EQ(refused("0-1/1-2"), "a: groups=0-1/1-2: rank 1 is there twice");
  EXPECT_EQ(refused("0-1/2/"), "a: groups=0-1/2/: expected ranks joined by '-', as in 0-1-3-2");
  EXPECT_EQ(refused("0-1/2-3"), "a: groups=0-1/2-3: there is no rank 3 among 3");
}

TEST(Parameters, ReadSpecsWithOrWithoutParentheses) {
  EXPECT_EQ(parameters("h").spec("inner", "two_shot"), parse_spec("two_shot"));
  EXPECT_EQ(parameters("h:inner=ring").spec("inner", "two_shot"), parse_spec("ring"));
  EXPECT_EQ(parameters("h:inner=(ring:order=1-0,slices=2)").spec("inner", "two_shot"),
            parse_spec("ring:order=1-0,slices=2"));
  EXPECT_EQ(tests::bad_input_of([] {
              return parameters("h:inner=(ring").spec("inner", "two_shot");
            }).find("spec '"),
            0u);
}

TEST(ParseSpec, SpecsInEachOtherAreLimitedWithoutParenthesesToo) {
  const auto nested = [](int levels) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += "hierarchical:outer=";
    return text + "ring";
  };
  EXPECT_NO_THROW((void)parse_spec(nested(16)));
  EXPECT_THROW((void)parse_spec(nested(18)), Error);
}

TEST(Spec, APathIsAPlanFile) {
  for (const char* path : {"ring4.json", "./a", "/tmp/x", "dir/plan", "./a:b=c,d.json", "a.b:c"}) {
    EXPECT_TRUE(is_plan_file(path)) << path;
    EXPECT_EQ(parse_spec(path), (Spec{path, {}}));
    EXPECT_EQ(to_string(parse_spec(path)), path);
  }
  for (const char* spec : {"ring", "hierarchical:groups=0-1/2-3", "mine:file=plan.json", ""})
    EXPECT_FALSE(is_plan_file(spec)) << spec;
  EXPECT_THROW((void)parse_spec("./a\nb"), Error);
}

TEST(Spec, PlanFilesStandInLists) {
  using List = std::vector<std::string>;
  EXPECT_EQ(split_specs("a.json,ring:slices=2,./b:c"), (List{"a.json", "ring:slices=2", "./b:c"}));
  EXPECT_EQ(split_specs("(./a,b.json),ring"), (List{"./a,b.json", "ring"}));
  // It takes no parameters: what follows is the next spec.
  EXPECT_EQ(split_specs("./a:b.json,c=d.json"), (List{"./a:b.json", "c=d.json"}));
}

}  // namespace
}  // namespace ringside
