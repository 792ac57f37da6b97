// SPDX-License-Identifier: MIT
#include "ringside/tools/report/crossovers.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace ringside::report {
namespace {

std::optional<std::size_t> fastest(std::span<const Series> series, std::uint64_t bytes) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Point* point = point_at(series[i], bytes);
    if (point != nullptr && (!best || point->us < point_at(series[*best], bytes)->us)) best = i;
  }
  return best;
}

bool clearly_faster(const Point& fast, const Point& slow) {
  return fast.most.value_or(fast.us) < slow.least.value_or(slow.us);
}

}  // namespace

const Point* point_at(const Series& series, std::uint64_t bytes) {
  const auto found = std::ranges::lower_bound(series.points, bytes, {}, &Point::bytes);
  return found != series.points.end() && found->bytes == bytes ? &*found : nullptr;
}

std::vector<Crossover> crossovers(std::span<const Series> series) {
  std::set<std::uint64_t> sizes;
  for (const auto& one : series)
    for (const auto& point : one.points) sizes.insert(point.bytes);
  std::vector<Crossover> found;
  for (auto left = sizes.begin(); left != sizes.end(); ++left) {
    const auto right = std::next(left);
    if (right == sizes.end()) break;
    const auto below = fastest(series, *left), above = fastest(series, *right);
    if (!below || !above || *below == *above) continue;
    const Point *old_left = point_at(series[*below], *left),
                *old_right = point_at(series[*below], *right);
    const Point *new_left = point_at(series[*above], *left),
                *new_right = point_at(series[*above], *right);
    if (old_right == nullptr || new_left == nullptr) continue;
    // How far the new one is behind on the left, and ahead on the right.
    const double behind = std::log(new_left->us / old_left->us);
    const double ahead = std::log(old_right->us / new_right->us);
    const double part = behind + ahead > 0 ? behind / (behind + ahead) : 0.5;
    const auto between = [part](double a, double b) { return a * std::pow(b / a, part); };
    found.push_back(
        {.before = *left,
         .behind = *right,
         .bytes = between(static_cast<double>(*left), static_cast<double>(*right)),
         .us = between(old_left->us, old_right->us),
         .below = *below,
         .above = *above,
         .clear = clearly_faster(*old_left, *new_left) && clearly_faster(*new_right, *old_right)});
  }
  return found;
}

}  // namespace ringside::report
