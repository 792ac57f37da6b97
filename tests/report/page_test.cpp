// SPDX-License-Identifier: MIT
/// The page of a report, as text.
#include "ringside/tools/report/page.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "ringside/base/file.hpp"
#include "ringside/tools/report/read_runs.hpp"

namespace ringside::tests {
namespace {

using nlohmann::json;
using report::Runs;

std::string page_of(const Runs& runs) {
  return report::report_page(runs, {.version = "0.0", .made = "today"});
}

json data_in(const std::string& page) {
  constexpr std::string_view start = "<script type=\"application/json\" id=\"data\">";
  const auto begin = page.find(start) + start.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

Runs everything() {
  Runs runs;
  for (const char* name :
       {"bench.json", "simulate.json", "timeline.json", "train_compare.json", "train.json",
        "train_on.json", "diagnose.json", "bench_compare.json", "topo.json"})
    report::read_run(read_file(std::string(RINGSIDE_TEST_DATA "/report/") + name), name, runs);
  report::read_run(read_file(RINGSIDE_TEST_DATA "/preflight/h200.json"), "h200.json", runs);
  return runs;
}

class Page : public testing::Test {
  void SetUp() override {
    if (!report::why_no_report().empty()) GTEST_SKIP() << report::why_no_report();
  }
};

TEST_F(Page, HasASectionForEverythingAndAPlaceForEveryChart) {
  const std::string page = page_of(everything());
  for (const char* id :
       {"findings", "speed", "training", "machine", "timeline", "paths", "changes", "files"})
    EXPECT_NE(page.find("<section id=\"" + std::string(id) + "\""), std::string::npos) << id;
  const json data = data_in(page);
  EXPECT_EQ(count(page, "data-chart=\""), data.at("charts").size());
  EXPECT_EQ(count(page, "data-machine=\""), data.at("machines").size());
  for (const auto& chart : data.at("charts")) {
    EXPECT_FALSE(chart.at("title").empty());
    EXPECT_FALSE(chart.at("figures").empty()) << chart.at("title");
  }
}

TEST_F(Page, LoadsNothingFromAnywhere) {
  const std::string page = page_of(everything());
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  for (const char* part :
       {" src=\"", "<link", "@import", "url(http", "'unsafe-eval'", "script-src 'unsafe-inline'"})
    EXPECT_EQ(page.find(part), std::string::npos) << part;
}

TEST_F(Page, MeasuredLinesAreSolidAndOthersAreNot) {
  const json data = data_in(page_of(everything()));
  for (const auto& chart : data.at("charts")) {
    if (chart.at("kind") != "lines") continue;
    for (const auto& series : chart.at("series"))
      EXPECT_EQ(series.at("dash") == "solid", series.at("figures") == "measured")
          << series.at("label");
  }
}

TEST_F(Page, AnAlgorithmLooksTheSameInAllCharts) {
  std::map<std::string, std::pair<int, int>> looks;
  const json data = data_in(page_of(everything()));
  for (const auto& chart : data.at("charts")) {
    if (chart.at("kind") != "lines" || chart.at("x") != "bytes") continue;
    for (const auto& series : chart.at("series")) {
      if (series.contains("bound")) continue;
      const std::string label = series.at("label");
      const std::pair<int, int> look(series.at("colour"), series.at("marker"));
      EXPECT_EQ(looks.emplace(label, look).first->second, look) << label;
    }
  }
  EXPECT_TRUE(looks.contains("ring") || looks.contains("ring (measured)"));
}

TEST_F(Page, HostileNamesStayNames) {
  Runs runs;
  const std::string evil = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>";
  runs.sources = {{.file = evil, .kind = "benchmark", .facts = {{evil, evil}}, .notes = {evil}}};
  runs.curves.push_back(
      {.call = {.collective = evil, .type = evil, .redop = evil},
       .series = {.label = evil, .detail = evil, .points = {{.bytes = 8, .us = 1, .busbw = 1}}}});
  runs.diagnoses.push_back({.verdict = evil,
                            .findings = {{.id = evil,
                                          .title = evil,
                                          .certainty = evil,
                                          .harm = evil,
                                          .why = evil,
                                          .cost = evil,
                                          .confirm = evil,
                                          .fix = evil,
                                          .lines = {evil}}}});
  const std::string page = page_of(runs);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  // Data, Chart.js, ours.
  EXPECT_EQ(count(page, "</script>"), 3U);
  EXPECT_EQ(data_in(page).at("charts").at(1).at("series").at(0).at("label"), evil);
}

TEST_F(Page, OfNothingIsAPage) { EXPECT_NE(page_of({}).find("</html>"), std::string::npos); }

}  // namespace
}  // namespace ringside::tests
