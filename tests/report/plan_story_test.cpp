// SPDX-License-Identifier: MIT
/// Plans step by step, and their pictures.
#include "ringside/tools/report/plan_story.hpp"

#include <gtest/gtest.h>

#include <pugixml.hpp>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/tools/report/colours.hpp"
#include "ringside/tools/report/plan_drawing.hpp"
#include "ringside/tools/report/plan_page.hpp"

namespace ringside::tests {
namespace {

using report::Story;

Plan plan_of(const std::string& spec, int ranks, Collective collective = Collective::all_reduce) {
  return make_plan(spec, {.collective = collective, .ranks = ranks});
}

TEST(PlanStory, ARingSendsEveryRankTwiceAllButItsShareAndTakesThatLong) {
  const Story story = report::story_of(plan_of("ring", 4));
  ASSERT_EQ(story.steps.size(), 6U);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_DOUBLE_EQ(story.received[static_cast<std::size_t>(rank)], 1.5);
    EXPECT_DOUBLE_EQ(story.sent[static_cast<std::size_t>(rank)], 1.5);
  }
  EXPECT_DOUBLE_EQ(story.duration(), 1.5);
}

TEST(PlanStory, GatheringAtRankZeroTakesItsPortAllMessagesInAndOut) {
  const Story story = report::story_of(plan_of("naive", 4));
  EXPECT_DOUBLE_EQ(story.received[0], 3);
  EXPECT_DOUBLE_EQ(story.sent[0], 3);
  EXPECT_DOUBLE_EQ(story.received[1], 1);
  EXPECT_DOUBLE_EQ(story.duration(), 6);
}

TEST(PlanStory, RanksHoldTheirOwnAtFirstAndEverythingInTheEnd) {
  for (const char* spec : {"ring", "two_shot", "halving_doubling", "one_shot"}) {
    const Story story = report::story_of(plan_of(spec, 4));
    for (int rank = 0; rank < 4; ++rank) {
      for (const auto& cell : story.start[static_cast<std::size_t>(rank)])
        for (int from = 0; from < 4; ++from)
          EXPECT_EQ(cell.held.contains(from), !cell.scratch && from == rank) << spec;
      for (const auto& cell : story.steps.back().after[static_cast<std::size_t>(rank)])
        EXPECT_TRUE(cell.scratch || cell.held.complete) << spec;
    }
  }
}

TEST(PlanStory, AnOpThatReadsAndStoresIsTwoHops) {
  const Story story = report::story_of(plan_of("two_shot", 3));
  ASSERT_EQ(story.steps.size(), 1U);
  EXPECT_EQ(story.steps[0].label, "steps 1-2");
  EXPECT_EQ(story.steps[0].hops, 2);
}

TEST(PlanStory, TooMuchIsRefusedWithTheLimit) {
  for (const auto& [spec, ranks] :
       {std::pair("ring", 17), std::pair("ring:slices=1,chunks=1", 40)}) {
    try {
      (void)report::story_of(plan_of(ranks == 17 ? spec : "ring", ranks));
      FAIL() << ranks;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_NE(std::string(error.what()).find("at most 16 ranks"), std::string::npos)
          << error.what();
    }
  }
}

/// Attributes of all elements of this name, in the order of the document.
std::vector<std::string> values_of(const pugi::xml_document& document, const char* element,
                                   const char* attribute) {
  std::vector<std::string> values;
  for (const auto& found : document.select_nodes((std::string("//") + element).c_str()))
    values.emplace_back(found.node().attribute(attribute).value());
  return values;
}

TEST(PlanStory, TheDrawingIsXmlWhoseTimesRiseWithinTheAnimation) {
  for (const char* spec : {"ring", "naive", "two_shot", "hierarchical:groups=0-1/2-3"}) {
    const auto drawing = report::draw_story(report::story_of(plan_of(spec, 4)));
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(drawing.svg.c_str())) << spec;
    EXPECT_FALSE(values_of(document, "animateMotion", "path").empty());
    for (const char* element : {"animate", "animateMotion"})
      for (const auto& times : values_of(document, element, "keyTimes")) {
        double before = -1;
        std::size_t from = 0;
        while (from <= times.size()) {
          const auto end = std::min(times.find(';', from), times.size());
          const double now = std::stod(times.substr(from, end - from));
          EXPECT_GE(now, before) << times;
          EXPECT_TRUE(now >= 0 && now <= 1) << times;
          before = now;
          from = end + 1;
        }
      }
    ASSERT_FALSE(drawing.ends.empty());
    EXPECT_LT(drawing.ends.back(), drawing.length);
  }
}

TEST(PlanStory, AFileOfItsOwnHasColoursThatEveryProgramKnows) {
  const Story story = report::story_of(plan_of("ring", 4));
  const auto file = report::draw_story(story);
  EXPECT_EQ(file.svg.find("var("), std::string::npos);
  EXPECT_NE(file.svg.find(".plan text{fill:#1d2733}"), std::string::npos);
  const auto on_page = report::draw_story(story, nullptr, report::Colours::page);
  EXPECT_NE(on_page.svg.find(".plan text{fill:var(--ink,#1d2733)}"), std::string::npos);
}

TEST(Colours, ArePlainWhereThemesAreUnknown) {
  EXPECT_EQ(report::plain_colours("a{fill:var(--ink,#123);stroke:var(--line, red)} b{x:y}"),
            "a{fill:#123;stroke:red} b{x:y}");
  EXPECT_EQ(report::plain_colours("--page: light-dark(#fff, #14191f);"), "--page: #fff;");
  const auto style = report::with_theme("p{color:var(--ink)}");
  const auto modern = style.find("@supports (color: light-dark(");
  ASSERT_NE(modern, std::string::npos);
  EXPECT_LT(style.find("--page: #fff;"), modern);
  EXPECT_GT(style.find("--page: light-dark(#fff"), modern);
  EXPECT_TRUE(style.ends_with("p{color:var(--ink)}"));
}

TEST(PlanStory, ALongNameIsBrokenInLinesOfThePictureAndTheSceneBeginsBelow) {
  const auto height_of = [](const std::string& spec) {
    Plan plan(Request{.collective = Collective::all_reduce, .ranks = 1}, Shape{}, spec);
    const Location in{0, Buffer::input, 0, 0}, out{0, Buffer::output, 0, 0};
    plan.append({.rank = 0, .lane = 0, .count = 1, .sources = {&in, 1}, .destinations = {&out, 1}});
    const auto drawing = report::draw_story(report::story_of(plan));
    pugi::xml_document document;
    EXPECT_TRUE(document.load_string(drawing.svg.c_str()));
    return document.child("svg").attribute("height").as_int();
  };
  const int short_one = height_of("x");
  EXPECT_EQ(height_of(std::string(12, 'x')), short_one);
  std::string letters;
  for (int i = 0; i < 20; ++i) letters += "\u00fc";  // of two bytes each
  EXPECT_GT(height_of(letters), short_one);
  EXPECT_EQ(height_of("mine:a=1,b=2,c=3,d=4,e=5"), short_one + 20);
}

TEST(PlanStory, AHostileNameIsTextInPictureAndPage) {
  Plan plan(Request{.collective = Collective::all_reduce, .ranks = 1}, Shape{}, "</script><b>&\"'");
  const Location in{0, Buffer::input, 0, 0}, out{0, Buffer::output, 0, 0};
  plan.append({.rank = 0, .lane = 0, .count = 1, .sources = {&in, 1}, .destinations = {&out, 1}});
  const Story story = report::story_of(plan);
  const auto drawing = report::draw_story(story);
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(drawing.svg.c_str()));
  const auto page = report::plan_page(story, drawing);
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_NE(page.find("&lt;/script&gt;&lt;b&gt;"), std::string::npos);
}

}  // namespace
}  // namespace ringside::tests
