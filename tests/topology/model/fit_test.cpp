// SPDX-License-Identifier: MIT
/// Fitting a link model to measurements.
#include "ringside/topology/model/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ringside/base/error.hpp"

namespace ringside::tests {
namespace {

std::vector<FreeFigure> two_figures() {
  return {{.name = "a", .prior = 10, .doubt = 1, .least = 1, .most = 100},
          {.name = "b", .prior = 10, .doubt = 1, .least = 1, .most = 100}};
}

/// Times of transfers that take a, b or both one after the other.
std::vector<double> rates(const std::vector<double>& values) {
  const double a = values[0], b = values[1];
  return {a, b, 1 / (1 / a + 1 / b), 2 / (1 / a + 2 / b), a, b};
}

LogErrors errors_against(std::vector<double> measured) {
  return [measured](const std::vector<double>& values) {
    auto errors = rates(values);
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = std::log(errors[i] / measured[i]);
    return errors;
  };
}

TEST(Fit, FindsTheFiguresThatMadeTheMeasurements) {
  const auto fit = fit_figures(two_figures(), errors_against(rates({22, 6})));
  EXPECT_NEAR(fit.values[0], 22, 0.05);
  EXPECT_NEAR(fit.values[1], 6, 0.05);
  EXPECT_LT(fit.after, fit.before / 10);
}

TEST(Fit, OneStrangeMeasurementDoesNotPullTheOthers) {
  auto measured = rates({22, 6});
  measured[4] /= 10;
  const auto fit = fit_figures(two_figures(), errors_against(measured));
  EXPECT_NEAR(fit.values[0], 22, 22 * 0.12);
  EXPECT_NEAR(fit.values[1], 6, 6 * 0.12);
}

TEST(Fit, StaysWithinItsBounds) {
  auto figures = two_figures();
  figures[0].most = 15;
  const auto fit = fit_figures(figures, errors_against(rates({22, 6})));
  EXPECT_NEAR(fit.values[0], 15, 1e-9);
}

TEST(Fit, AFigureThatNothingTellsOfStaysWhatItWas) {
  const auto fit = fit_figures(two_figures(), [](const std::vector<double>& values) {
    return std::vector<double>{std::log(values[0] / 30)};
  });
  EXPECT_NEAR(fit.values[0], 30, 0.3);
  EXPECT_NEAR(fit.values[1], 10, 1e-9);
}

TEST(Fit, FindsALimitThatDoesNotLimitAtItsPrior) {
  const auto fit =
      fit_figures({{.name = "a", .prior = 50, .doubt = 1, .least = 5, .most = 100}},
                  [](const std::vector<double>& values) {
                    const double rate = std::min(20.0, values[0]);
                    return std::vector<double>{std::log(rate / 11), std::log(rate / 11)};
                  });
  EXPECT_NEAR(fit.values[0], 11, 0.2);
}

TEST(Fit, IsTheSameEveryTime) {
  auto measured = rates({22, 6});
  measured[2] *= 1.3;
  const auto first = fit_figures(two_figures(), errors_against(measured));
  const auto second = fit_figures(two_figures(), errors_against(measured));
  EXPECT_EQ(first.values, second.values);
}

TEST(Fit, WhatCannotBeIsRefused) {
  auto figures = two_figures();
  figures[1].least = 11;
  EXPECT_THROW((void)fit_figures(figures, errors_against(rates({22, 6}))), Error);
  EXPECT_THROW((void)fit_figures(two_figures(), errors_against({0, 1, 1, 1, 1, 1})), Error);
}

TEST(Fit, TheModelSaysWhatWasFitted) {
  const std::vector<FreeFigure> figures{
      {.name = "pcie4.x16.bandwidth", .prior = 26, .doubt = 1, .least = 1, .most = 100}};
  const auto model = with_fitted(link_model_named("pcie"), figures, {22}, "run.txt");
  const Figure* figure = model.find("pcie4.x16.bandwidth");
  ASSERT_NE(figure, nullptr);
  EXPECT_EQ(figure->value, 22);
  EXPECT_EQ(figure->unit, "GB/s");
  EXPECT_EQ(figure->confidence, Confidence::fitted);
  EXPECT_EQ(figure->source, "run.txt");
}

}  // namespace
}  // namespace ringside::tests
