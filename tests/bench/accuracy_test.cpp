// SPDX-License-Identifier: MIT
/// The twin against published measurements. The limits are those that the project promises; what is
/// reached stands in bench/results.
#include "ringside/bench/accuracy/accuracy.hpp"

#include <gtest/gtest.h>

#include <set>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/bench/accuracy/predictor.hpp"
#include "ringside/topology/model/link_model.hpp"

namespace ringside::tests {
namespace {

using namespace bench;

constexpr double fitted_median = 0.10, left_out_median = 0.15;
constexpr std::size_t most_fitted = 24;

const std::vector<PublishedRow>& published() {
  static const auto rows = [] {
    const std::string folder = RINGSIDE_TEST_DATA "/published/";
    return read_published(read_file(folder + "published-busbw.tsv"),
                          read_file(folder + "rows.tsv"));
  }();
  return rows;
}

const Accuracy& measured_accuracy() {
  static const auto accuracy = accuracy_of(published());
  return accuracy;
}

TEST(Published, EveryRowHasAMachineOrAReason) {
  EXPECT_EQ(published().size(), 97U);
  std::size_t counted = 0;
  for (const auto& row : published()) {
    EXPECT_GT(row.measured, 0) << row.row;
    if (!row.excluded_because.empty()) {
      EXPECT_GE(row.excluded_because.size(), 10U) << row.row;
      continue;
    }
    ++counted;
    EXPECT_FALSE(row.group.empty()) << row.row;
    EXPECT_GE(row.ranks_on.size(), 2U) << row.row;
    for (const double bytes : row.bytes) EXPECT_GE(bytes, 1 << 20) << row.row;
    EXPECT_NO_THROW((void)machine_of(row)) << row.row;
  }
  EXPECT_GE(counted, 80U) << "few rows are left out";
}

TEST(Published, TablesThatDoNotFitAreRefused) {
  const std::string head = "system\ttopology\tgpus\tcollective\tsize\talgbw\tbusbw\tv\tsource\tn\n";
  const std::string row = "a\tb\t8\tall_reduce\t1GiB\t\t20\t\ts\tn\n";
  const std::string meant = "row\ts\tm\tw\tg\tw\ts\te\tr\n1\tbox\tdgx-a100\t\t8\tring\t\t\t\n";
  EXPECT_EQ(read_published(head + row, meant).size(), 1U);
  EXPECT_THROW((void)read_published(head + row + row, meant), Error);
  EXPECT_THROW((void)read_published(head + "a\tb\n", meant), Error);
  EXPECT_THROW((void)read_published(head + "a\tb\t8\tall_reduce\t1GiB\t\t\t\ts\tn\n", meant),
               Error);
  EXPECT_THROW((void)read_published(head + row, "head\n2\tbox\tdgx-a100\t\t8\tring\t\t\t\n"),
               Error);
  EXPECT_THROW((void)read_published(head + row, "head\n1\tbox\tdgx-a100\t\tall\tring\t\t\t\n"),
               Error);
}

TEST(Accuracy, OfTheFiguresAsTheyAre) {
  const auto errors = errors_of(published(), measured_accuracy(), false, true);
  EXPECT_LE(errors.median, fitted_median);
}

TEST(Accuracy, OfMachinesThatNothingWasFittedTo) {
  EXPECT_LE(errors_of(published(), measured_accuracy(), true, true).median, left_out_median);
  EXPECT_LE(errors_of(published(), measured_accuracy(), true, false).median, left_out_median);
}

TEST(Accuracy, TheLibrarysFiguresAreWhatTheFitGives) {
  const auto& figures = published_figures();
  EXPECT_LE(figures.size(), most_fitted);
  for (std::size_t k = 0; k < figures.size(); ++k) {
    const auto& model = link_model_named(figures[k].model.empty() ? "pcie" : figures[k].model);
    const Figure* figure = model.find(figures[k].figure.name);
    ASSERT_NE(figure, nullptr) << figures[k].figure.name;
    EXPECT_EQ(figure->confidence, Confidence::fitted) << figure->name;
    EXPECT_NEAR(figure->value / measured_accuracy().fitted[k], 1, 0.05) << figure->name;
  }
}

TEST(Accuracy, WhatIsCalledFittedIsFittedHere) {
  std::set<std::string> fitted;
  for (const auto& each : published_figures()) fitted.insert(each.figure.name);
  for (const auto& model : link_models())
    for (const auto& figure : model.figures)
      EXPECT_TRUE(figure.confidence != Confidence::fitted || fitted.contains(figure.name))
          << model.name << " " << figure.name;
}

TEST(Accuracy, TheTableNamesAllRows) {
  const auto text = accuracy_text(published(), measured_accuracy());
  for (const auto& row : published())
    EXPECT_NE(text.find(row.system.substr(0, 20)), std::string::npos) << row.row;
  EXPECT_NE(text.find("median"), std::string::npos);
}

}  // namespace
}  // namespace ringside::tests
