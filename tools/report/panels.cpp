// SPDX-License-Identifier: MIT
#include "ringside/tools/report/panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace ringside::report {
namespace {

/// More lines than that hide each other.
constexpr std::size_t most_on = 6;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string variant_name(const Call& call) {
  std::string name = call.type;
  if (!call.redop.empty() && call.redop != "none") name += " " + call.redop;
  if (call.root >= 0) name += fmt::format(", root {}", call.root);
  return name + (call.in_place ? ", in place" : ", out of place");
}

bool takes_part(const Series& series) {
  return series.role == Role::ours || series.role == Role::peer;
}

/// Labels that are there twice get what tells them apart.
void tell_apart(std::vector<ShownSeries>& all, const Runs& runs) {
  std::set<Figures> kinds;
  for (const auto& each : all)
    if (each.series.role != Role::bound) kinds.insert(each.series.figures);
  for (auto& each : all) {
    each.label = each.series.label;
    if (each.series.role == Role::bound)
      each.label += fmt::format(" ({})", to_string(each.series.figures));
    else if (kinds.size() > 1)
      each.label += fmt::format(" ({})", to_string(each.series.figures));
  }
  std::map<std::string, int> times;
  for (const auto& each : all) ++times[each.label];
  for (auto& each : all)
    if (times[each.label] > 1)
      each.label += ", " + file_name(runs.sources[each.series.source].file);
  // The same file name in two folders, or one file given twice.
  std::map<std::string, int> seen;
  for (auto& each : all)
    if (const int number = ++seen[each.label]; number > 1)
      each.label += fmt::format(" #{}", number);
}

/// How far a series is from the fastest of its kind of figures: geometric mean over sizes; and
/// whether it is the fastest anywhere.
struct Standing {
  double distance = std::numeric_limits<double>::infinity();
  bool wins = false;
};

Standing standing_of(const Series& one, const std::vector<ShownSeries>& all) {
  double sum = 0;
  Standing standing;
  for (const auto& point : one.points) {
    double best = point.us;
    for (const auto& other : all)
      if (takes_part(other.series) && other.series.figures == one.figures)
        if (const Point* theirs = point_at(other.series, point.bytes))
          best = std::min(best, theirs->us);
    sum += std::log(point.us / best);
    standing.wins |= best == point.us;
  }
  if (!one.points.empty()) standing.distance = sum / static_cast<double>(one.points.size());
  return standing;
}

/// The bound, other libraries, and the best of ours.
void choose_shown(std::vector<ShownSeries>& all) {
  if (all.size() <= most_on) return;
  std::vector<std::tuple<bool, double, std::size_t>> standings;
  std::size_t on = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].on = all[i].series.role == Role::bound || all[i].series.role == Role::peer;
    on += all[i].on ? 1 : 0;
    const Standing standing = standing_of(all[i].series, all);
    if (all[i].series.role == Role::ours)
      standings.emplace_back(!standing.wins, standing.distance, i);
  }
  std::ranges::sort(standings);
  constexpr std::size_t least_of_ours = 2;
  std::size_t taken = 0;
  for (const auto& [loses, distance, i] : standings)
    if (taken < least_of_ours || on + taken < most_on) {
      all[i].on = true;
      ++taken;
    }
}

/// Of measured and of simulated lines by themselves.
std::vector<Crossover> crossovers_of(const std::vector<ShownSeries>& all) {
  std::vector<Crossover> found;
  for (const Figures figures : {Figures::measured, Figures::simulated}) {
    std::vector<Series> series;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (takes_part(all[i].series) && all[i].series.figures == figures) {
        series.push_back(all[i].series);
        places.push_back(i);
      }
    for (auto crossover : crossovers(series)) {
      crossover.below = places[crossover.below];
      crossover.above = places[crossover.above];
      found.push_back(crossover);
    }
  }
  return found;
}

/// Of a peer's medians and the fastest of ours that were measured, at sizes that both have.
RatioCurve ratio_of(const Variant& variant, const Series& peer) {
  RatioCurve curve{
      .call = variant.call, .peer = peer.label, .source = peer.source, .same_rounds = false};
  for (const auto& point : peer.points) {
    const Point* best = nullptr;
    std::string name;
    for (const auto& other : variant.series) {
      if (other.series.role != Role::ours || other.series.figures != Figures::measured) continue;
      const Point* ours = point_at(other.series, point.bytes);
      if (ours != nullptr && (best == nullptr || ours->us < best->us)) {
        best = ours;
        name = other.series.label;
      }
    }
    if (best != nullptr)
      curve.points.push_back(
          {.bytes = point.bytes, .ratio = point.us / best->us, .algorithm = name});
  }
  return curve;
}

void add_ratios(Variant& variant, const Runs& runs) {
  for (const auto& curve : runs.ratios) {
    Call call = curve.call;
    call.root = variant.call.root;  // which the file's ratios do not tell
    if (call == variant.call) variant.ratios.push_back(curve);
  }
  for (const auto& each : variant.series) {
    if (each.series.role != Role::peer) continue;
    const bool there = std::ranges::any_of(variant.ratios, [&](const RatioCurve& curve) {
      return curve.peer == each.series.label && curve.source == each.series.source;
    });
    if (there) continue;
    auto curve = ratio_of(variant, each.series);
    if (!curve.points.empty()) variant.ratios.push_back(std::move(curve));
  }
}

void finish(Variant& variant, const Runs& runs) {
  variant.name = variant_name(variant.call);
  for (auto& each : variant.series) std::ranges::stable_sort(each.series.points, {}, &Point::bytes);
  tell_apart(variant.series, runs);
  choose_shown(variant.series);
  variant.crossovers = crossovers_of(variant.series);
  add_ratios(variant, runs);
}

/// What is measured on different machines says nothing of each other.
std::vector<std::string> notes_of(const Panel& panel) {
  std::set<std::size_t> sources;
  for (const auto& variant : panel.variants)
    for (const auto& each : variant.series) sources.insert(each.series.source);
  if (sources.size() < 2) return {};
  return {fmt::format("from {} files: compare what is of one machine only", sources.size())};
}

}  // namespace

std::vector<Panel> panels_of(const Runs& runs) {
  std::vector<Panel> panels;
  std::map<std::tuple<bool, std::string, int>, std::size_t> places;
  for (const auto& curve : runs.curves) {
    const Call& call = curve.call;
    const auto [at, is_new] =
        places.emplace(std::tuple(call.gpus, call.collective, call.ranks), panels.size());
    if (is_new)
      panels.push_back(
          {.title = fmt::format("{}, {} {}{}", call.collective, call.ranks,
                                call.gpus ? "GPU rank" : "rank", call.ranks == 1 ? "" : "s"),
           .variants = {},
           .notes = {}});
    auto& variants = panels[at->second].variants;
    auto variant = std::ranges::find(variants, call, &Variant::call);
    if (variant == variants.end())
      variant = variants.insert(
          variants.end(), {.call = call, .name = "", .series = {}, .crossovers = {}, .ratios = {}});
    variant->series.push_back({.series = curve.series, .label = "", .on = true});
  }
  for (auto& panel : panels) {
    for (auto& variant : panel.variants) finish(variant, runs);
    panel.notes = notes_of(panel);
  }
  return panels;
}

}  // namespace ringside::report
