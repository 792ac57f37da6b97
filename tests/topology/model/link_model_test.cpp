// SPDX-License-Identifier: MIT
/// Link models: their file format, their figures, and which one fits a machine.
#include "ringside/topology/model/link_model.hpp"

#include <gtest/gtest.h>

#include <set>

#include "ringside/base/error.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

constexpr std::size_t most_classes = 7, most_fitted = 24;

TEST(LinkModel, TheClassesAreFewAndSoAreTheirFittedFigures) {
  EXPECT_LE(link_models().size(), most_classes);
  std::set<std::pair<std::string, std::string>> fitted;
  for (const auto& model : link_models())
    for (const auto& figure : model.figures)
      if (figure.confidence == Confidence::fitted) fitted.emplace(figure.name, figure.source);
  EXPECT_LE(fitted.size(), most_fitted);
  EXPECT_GT(fitted.size(), 0U);
}

TEST(LinkModel, EveryFigureHasASource) {
  for (const auto& model : link_models())
    for (const auto& figure : model.figures) {
      EXPECT_GE(figure.source.size(), 6U) << model.name << " " << figure.name;
      EXPECT_FALSE(figure.unit.empty());
    }
}

TEST(LinkModel, WhatIsWrittenReadsBackTheSame) {
  for (const auto& model : link_models())
    EXPECT_EQ(link_model_from_json(link_model_to_json(model), "text"), model) << model.name;
}

TEST(LinkModel, AFileMayRefineAClass) {
  const auto model = link_model_from_json(
      R"({"ringside_link_model": 1, "name": "mine", "refines": "pcie",
          "figures": {"pcie4.x16.bandwidth": {"value": 22, "unit": "GB/s",
                      "confidence": "measured", "source": "nccl-tests"}}})",
      "mine.json");
  EXPECT_EQ(model.value("pcie4.x16.bandwidth"), 22);
  EXPECT_EQ(model.value("pcie5.x16.bandwidth"),
            link_model_named("pcie").value("pcie5.x16.bandwidth"));
}

void expect_refused(const char* text, const char* part) {
  try {
    (void)link_model_from_json(text, "mine.json");
    FAIL() << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("mine.json"), std::string::npos) << error.what();
  }
}

TEST(LinkModel, WhatIsWrongInAFileIsTold) {
  expect_refused(R"({"ringside_link_model": 2, "name": "a", "figures": {}})", "version 1");
  expect_refused(R"({"ringside_link_model": 1, "name": "a", "refines": "x", "figures": {}})",
                 "no class");
  expect_refused(R"({"ringside_link_model": 1, "name": "a", "figures": {"b": {"value": -1,
      "unit": "us", "confidence": "stated", "source": "s"}}})",
                 "negative");
  expect_refused(R"({"ringside_link_model": 1, "name": "a", "figures": {"b": {"value": 1,
      "unit": "ms", "confidence": "stated", "source": "s"}}})",
                 "GB/s, us, 1");
  expect_refused(R"({"ringside_link_model": 1, "name": "a", "figures": {"b": {"value": 1,
      "unit": "us", "confidence": "sure", "source": "s"}}})",
                 "measured, stated, fitted, assumed");
}

TEST(LinkModel, AMissingFigureIsNamed) {
  const LinkModel model{.name = "empty", .summary = "", .figures = {}};
  try {
    (void)model.value("pcie4.x16.bandwidth");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("pcie4.x16.bandwidth"), std::string::npos);
  }
}

TEST(LinkModel, PresetsFindTheirClass) {
  const auto name = [](const char* preset) {
    return link_model_for(*make_preset(preset)).model->name;
  };
  EXPECT_EQ(name("8gpu-two-sockets"), "pcie");
  EXPECT_EQ(name("4gpu-nvlink-pairs"), "pcie");
  EXPECT_EQ(name("g5.12xlarge"), "cloud");
  EXPECT_EQ(name("dgx1v"), "nvlink-mesh");
  EXPECT_EQ(name("dgx-a100"), "nvswitch-ampere");
  EXPECT_EQ(name("fat-tree:boxes=2"), "nvswitch-ampere");
  EXPECT_EQ(name("p5"), "nvswitch-hopper");
  EXPECT_EQ(name("nvl72"), "nvswitch-blackwell");
}

}  // namespace
}  // namespace ringside::tests
