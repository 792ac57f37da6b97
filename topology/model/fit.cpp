// SPDX-License-Identifier: MIT
#include "ringside/topology/model/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

/// How far the twin may be off without anything being wrong, and from where on a measurement counts
/// as strange.
constexpr double spread = 0.05, strange = 2;
constexpr int most_iterations = 30, most_halvings = 12;
constexpr int places = 8;
constexpr double step_of_difference = 0.01;  ///< of a logarithm
constexpr double least_gain = 1e-9;

using Vector = std::vector<double>;

double huber(double x) {
  const double size = std::abs(x);
  return size <= strange ? x * x : strange * (2 * size - strange);
}

/// The weight that makes a square of Huber's function near x.
double weight(double x) {
  const double size = std::abs(x);
  return size <= strange ? 1 : strange / size;
}

/// Solves A x = b in place for a symmetric positive definite A (the priors see to that).
Vector solve(std::vector<Vector> a, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

class Fitter {
 public:
  Fitter(const std::vector<FreeFigure>& figures, const LogErrors& errors)
      : figures_(figures), errors_(errors) {
    for (const auto& figure : figures) {
      if (!(figure.prior > 0 && figure.least > 0 && figure.least <= figure.prior &&
            figure.prior <= figure.most && figure.doubt > 0))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{}: the bounds {} to {} do not hold {}", figure.name, figure.least,
                                figure.most, figure.prior));
      place_.push_back(std::log(figure.prior));
    }
  }

  Fit run() {
    Vector errors = at(place_);
    for (const double error : errors)
      if (!std::isfinite(error))
        throw Error(ErrorCode::invalid_argument, "a measurement that nothing can be fitted to");
    double cost = cost_of(place_, errors);
    Fit fit{.values = {}, .errors = {}, .before = cost, .after = cost, .evaluations = 0};
    look_round(errors, cost);
    for (int i = 0; i < most_iterations; ++i) {
      const double gain = improve(errors, cost);
      if (gain <= least_gain * (1 + cost)) break;
    }
    fit.values = values_at(place_);
    fit.errors = errors;
    fit.after = cost;
    fit.evaluations = evaluations_;
    return fit;
  }

 private:
  static Vector values_at(const Vector& place) {
    Vector values;
    for (const double each : place) values.push_back(std::exp(each));
    return values;
  }

  Vector at(const Vector& place) {
    ++evaluations_;
    return errors_(values_at(place));
  }

  [[nodiscard]] double from_prior(const Vector& place, std::size_t k) const {
    return (place[k] - std::log(figures_[k].prior)) / figures_[k].doubt;
  }

  [[nodiscard]] double cost_of(const Vector& place, const Vector& errors) const {
    double cost = 0;
    for (const double error : errors) cost += huber(error / spread);
    for (std::size_t k = 0; k < place.size(); ++k) {
      const double off = from_prior(place, k);
      cost += off * off;
    }
    return cost;
  }

  /// One figure after another at places between its bounds; stays where it is best.
  void look_round(Vector& errors, double& cost) {
    for (std::size_t k = 0; k < figures_.size(); ++k) {
      const double least = std::log(figures_[k].least), most = std::log(figures_[k].most);
      for (int i = 0; i <= places; ++i) {
        Vector there = place_;
        there[k] = least + (most - least) * i / places;
        Vector found = at(there);
        const double new_cost = cost_of(there, found);
        if (!(new_cost < cost)) continue;
        place_ = std::move(there);
        errors = std::move(found);
        cost = new_cost;
      }
    }
  }

  /// One step; what it gained.
  double improve(Vector& errors, double& cost) {
    const Vector step = step_from(errors);
    double length = 1;
    for (int i = 0; i < most_halvings; ++i, length /= 2) {
      Vector there = place_;
      for (std::size_t k = 0; k < there.size(); ++k)
        there[k] = std::clamp(there[k] + length * step[k], std::log(figures_[k].least),
                              std::log(figures_[k].most));
      Vector found = at(there);
      const double new_cost = cost_of(there, found);
      if (!(new_cost < cost)) continue;
      const double gain = cost - new_cost;
      place_ = std::move(there);
      errors = std::move(found);
      cost = new_cost;
      return gain;
    }
    return 0;
  }

  /// Gauss-Newton, slopes by differences.
  Vector step_from(const Vector& errors) {
    const std::size_t n = figures_.size();
    std::vector<Vector> slopes;
    for (std::size_t k = 0; k < n; ++k) {
      Vector near = place_;
      near[k] += step_of_difference;
      slopes.push_back(at(near));
      for (std::size_t i = 0; i < errors.size(); ++i)
        slopes[k][i] = (slopes[k][i] - errors[i]) / step_of_difference / spread;
    }
    std::vector<Vector> a(n, Vector(n, 0));
    Vector b(n, 0);
    for (std::size_t k = 0; k < n; ++k) {
      a[k][k] += 1 / (figures_[k].doubt * figures_[k].doubt);
      b[k] -= from_prior(place_, k) / figures_[k].doubt;
      for (std::size_t i = 0; i < errors.size(); ++i) {
        const double w = weight(errors[i] / spread);
        b[k] -= w * slopes[k][i] * errors[i] / spread;
        for (std::size_t j = 0; j < n; ++j) a[k][j] += w * slopes[k][i] * slopes[j][i];
      }
    }
    return solve(std::move(a), std::move(b));
  }

  const std::vector<FreeFigure>& figures_;
  const LogErrors& errors_;
  Vector place_;  // logarithms of the values
  int evaluations_ = 0;
};

}  // namespace

Fit fit_figures(const std::vector<FreeFigure>& figures, const LogErrors& errors) {
  return Fitter(figures, errors).run();
}

LinkModel with_fitted(LinkModel model, const std::vector<FreeFigure>& figures,
                      const std::vector<double>& values, const std::string& source) {
  for (std::size_t k = 0; k < figures.size(); ++k) {
    const Figure* known = model.find(figures[k].name);
    Figure figure{.name = figures[k].name,
                  .value = values[k],
                  .unit = known != nullptr ? known->unit : "1",
                  .confidence = Confidence::fitted,
                  .source = source};
    model.set(std::move(figure));
  }
  return model;
}

}  // namespace ringside
