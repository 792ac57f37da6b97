// SPDX-License-Identifier: MIT
/// Charts over the size of the message.
#include "ringside/tools/report/charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/tools/report/machine_picture.hpp"

namespace ringside::report {
namespace {

enum class Quantity { time, bandwidth };

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// [bytes, value, least, most, note]; bus bandwidth goes with the inverse of the time.
Json point_json(const Point& point, Quantity quantity) {
  Json json = Json::array({point.bytes});
  if (quantity == Quantity::time) {
    json.push_back(point.us);
    json.push_back(optional_json(point.least));
    json.push_back(optional_json(point.most));
  } else {
    const auto at = [&](const std::optional<double>& us) {
      return us && *us > 0 ? Json(point.busbw * point.us / *us) : Json(nullptr);
    };
    json.push_back(point.busbw);
    json.push_back(at(point.most));
    json.push_back(at(point.least));
  }
  json.push_back(point.ran);
  return json;
}

/// Solid is measured; everything else is not.
const char* dash_of(const Series& series) {
  if (series.role == Role::bound) return "dotted";
  return series.figures == Figures::measured ? "solid" : "dashed";
}

Json series_json(const ShownSeries& shown, Quantity quantity, bool hollow, Looks& looks) {
  const Series& series = shown.series;
  Json json = {{"label", shown.label},
               {"figures", to_string(series.figures)},
               {"detail", series.detail},
               {"dash", dash_of(series)},
               {"on", shown.on}};
  if (series.role == Role::bound) {
    json["bound"] = true;
  } else {
    const Look look = looks.of(series.label);
    json["colour"] = look.colour;
    json["marker"] = look.marker;
    json["hollow"] = hollow;
  }
  json["points"] = Json::array();
  for (const auto& point : series.points) json["points"].push_back(point_json(point, quantity));
  return json;
}

/// "measured, simulated": of everything in the chart.
Json figures_of(const Variant& variant) {
  std::set<Figures> kinds;
  for (const auto& each : variant.series) kinds.insert(each.series.figures);
  Json words = Json::array();
  for (const Figures figures : kinds) words.push_back(to_string(figures));
  return words;
}

Json lines(const Variant& variant, Quantity quantity, Looks& looks) {
  std::set<std::pair<std::string, Figures>> seen;
  Json list = Json::array();
  for (const auto& each : variant.series) {
    const bool again = !seen.insert({each.series.label, each.series.figures}).second;
    list.push_back(series_json(each, quantity, again, looks));
  }
  return list;
}

double bandwidth_at(const Variant& variant, const Crossover& crossover) {
  // Of one call bus bandwidth is a constant times bytes over time.
  for (const auto& point : variant.series[crossover.below].series.points)
    if (point.busbw > 0)
      return crossover.bytes / crossover.us * point.busbw * point.us /
             static_cast<double>(point.bytes);
  return 0;
}

Json marks(const Variant& variant, Quantity quantity) {
  Json list = Json::array();
  for (const auto& crossover : variant.crossovers) {
    const auto& below = variant.series[crossover.below];
    const auto& above = variant.series[crossover.above];
    list.push_back(
        {{"x", crossover.bytes},
         {"y", quantity == Quantity::time ? crossover.us : bandwidth_at(variant, crossover)},
         {"below", below.label},
         {"above", above.label},
         {"clear", crossover.clear},
         {"text", fmt::format("{} {} becomes faster than {}{}",
                              format_between(crossover.before, crossover.behind), above.label,
                              below.label, crossover.clear ? "" : " (within the spread)")}});
  }
  return list;
}

Json size_chart(const Panel& panel, const Variant& variant, Quantity quantity, Looks& looks) {
  const bool time = quantity == Quantity::time;
  return {{"kind", "lines"},
          {"title",
           fmt::format("{} of {}, {}", time ? "Time" : "Bus bandwidth", panel.title, variant.name)},
          {"figures", figures_of(variant)},
          {"x", "bytes"},
          {"y", time ? "us" : "GB/s"},
          {"x_title", "bytes of the message"},
          {"y_title", time ? "time of a call" : "bus bandwidth, GB/s"},
          {"better", time ? "lower is better" : "higher is better"},
          {"series", lines(variant, quantity, looks)},
          {"marks", marks(variant, quantity)}};
}

}  // namespace

Json time_chart(const Panel& panel, const Variant& variant, Looks& looks) {
  return size_chart(panel, variant, Quantity::time, looks);
}

Json bandwidth_chart(const Panel& panel, const Variant& variant, Looks& looks) {
  return size_chart(panel, variant, Quantity::bandwidth, looks);
}

Json ratio_chart(const Panel& panel, const Variant& variant, Looks& looks) {
  Json list = Json::array();
  bool all_same_rounds = true;
  std::set<std::string> seen;
  for (const auto& curve : variant.ratios) {
    const Look look = looks.of(curve.peer);
    all_same_rounds &= curve.same_rounds;
    const bool again = !seen.insert(curve.peer).second;
    Json json = {{"label", again ? fmt::format("{} #{}", curve.peer, seen.size() + list.size())
                                 : curve.peer},
                 {"figures", "measured"},
                 {"detail", curve.same_rounds ? "of the same rounds" : "of separate runs"},
                 {"dash", "solid"},
                 {"on", true},
                 {"colour", look.colour},
                 {"marker", look.marker},
                 {"hollow", !curve.same_rounds}};
    json["points"] = Json::array();
    for (const auto& point : curve.points)
      json["points"].push_back(
          Json::array({point.bytes, point.ratio, nullptr, nullptr, point.algorithm}));
    list.push_back(std::move(json));
  }
  return {{"kind", "lines"},
          {"title", fmt::format("The fastest of ours against other libraries: {}, {}", panel.title,
                                variant.name)},
          {"figures", Json::array({"measured"})},
          {"x", "bytes"},
          {"y", "times"},
          {"x_title", "bytes of the message"},
          {"y_title", "their time over ours"},
          {"better", all_same_rounds ? "above 1 ours is faster; medians of same-round ratios"
                                     : "above 1 ours is faster; hollow: medians of separate runs"},
          {"series", std::move(list)},
          {"references", Json::array({{{"y", 1}, {"text", "as fast"}}})}};
}

Json load_cases(const MachineView& view) {
  Json list = Json::array();
  for (const auto& load : view.loads) {
    Json links = Json::object();
    for (const auto& link : load.links)
      links[link.link] =
          Json::array({load_step(share_of(link, load.seconds)), load_words(link, load.seconds)});
    list.push_back({{"name", fmt::format("{}, {}", load.algorithm, format_bytes(load.bytes))},
                    {"seconds", load.seconds},
                    {"links", std::move(links)}});
  }
  return list;
}

}  // namespace ringside::report
