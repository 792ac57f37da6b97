// SPDX-License-Identifier: MIT
/// Fitting a few figures to measurements: bounded least squares on logarithms, so that 10 % too
/// much and 10 % too little count alike, whatever the unit.
///
/// What is minimised is the sum over measurements of h(log(predicted / measured) / spread), h being
/// Huber's function (square near 0, then linear: one strange measurement does not pull everything),
/// plus the sum over figures of (log(value / prior) / doubt)^2: a figure that the measurements say
/// nothing of stays what it was. From the best
/// of the priors and some places between the bounds (a figure may not be what limits at its prior),
/// Gauss-Newton with step halving; deterministic.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ringside/topology/model/link_model.hpp"

namespace ringside {

struct FreeFigure {
  std::string name;     ///< of the link model
  double prior = 0;     ///< what it is believed to be
  double doubt = 0.25;  ///< standard deviation of log(value / prior)
  double least = 0;     ///< bounds
  double most = 0;

  bool operator==(const FreeFigure&) const = default;
};

/// log(predicted / measured) of each measurement, for values of the free figures. A measurement
/// that a figure has no influence on must not depend on it.
using LogErrors = std::function<std::vector<double>(const std::vector<double>& values)>;

struct Fit {
  std::vector<double> values;    ///< of the figures
  std::vector<double> errors;    ///< LogErrors at these
  double before = 0, after = 0;  ///< what is minimised, at the priors and at the values
  int evaluations = 0;           ///< of LogErrors
};

/// Throws Error(invalid_argument) for bounds that do not hold the prior, and for errors that are
/// not finite at the priors.
[[nodiscard]] Fit fit_figures(const std::vector<FreeFigure>& figures, const LogErrors& errors);

/// The model with the fitted values, marked as such.
[[nodiscard]] LinkModel with_fitted(LinkModel model, const std::vector<FreeFigure>& figures,
                                    const std::vector<double>& values, const std::string& source);

}  // namespace ringside
