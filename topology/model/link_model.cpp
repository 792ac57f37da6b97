// SPDX-License-Identifier: MIT
#include "ringside/topology/model/link_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/json.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/model/class_texts.hpp"

namespace ringside {
namespace {

constexpr std::string_view base_class = "base";
constexpr JsonLimits limits = {.bytes = std::size_t{1} << 20, .depth = 8, .values = 20'000};

constexpr std::array<std::string_view, 4> confidences = {"measured", "stated", "fitted", "assumed"};
constexpr std::array<std::string_view, 3> units = {"GB/s", "us", "1"};

auto place_of(std::vector<Figure>& figures, std::string_view name) {
  return std::ranges::lower_bound(figures, name, {}, &Figure::name);
}

template <std::size_t Count>
std::size_t word(const JsonValue& value, const std::array<std::string_view, Count>& words) {
  const auto found = std::ranges::find(words, value.text());
  if (found == words.end())
    value.fail(fmt::format("one of {}, not {}", fmt::join(words, ", "), quote(value.text())));
  return static_cast<std::size_t>(found - words.begin());
}

Figure read_figure(std::string_view name, const JsonValue& json) {
  json.only({"value", "unit", "confidence", "source"});
  Figure figure;
  figure.name = name;
  figure.value = json["value"].number();
  if (figure.value < 0) json["value"].fail("a figure is not negative");
  figure.unit = units[word(json["unit"], units)];
  figure.confidence = static_cast<Confidence>(word(json["confidence"], confidences));
  figure.source = json["source"].text();
  return figure;
}

/// The texts that come with the library; base.json is the only one that is no class by itself.
LinkModel built_in(std::string_view name) {
  for (const auto& text : class_texts())
    if (text.name == name) return link_model_from_json(text.json, fmt::format("class {}", name));
  throw Error(ErrorCode::bad_input, fmt::format("there is no link model {}", quote(name)));
}

LinkModel refined(const JsonValue& name) {
  if (name.text() == base_class) {
    static const LinkModel base = built_in(base_class);
    return base;
  }
  const auto& models = link_models();
  const auto found = std::ranges::find(models, name.text(), &LinkModel::name);
  if (found == models.end()) name.fail("there is no class " + quote(name.text()));
  return *found;
}

}  // namespace

std::string_view to_string(Confidence confidence) {
  return confidences.at(static_cast<std::size_t>(confidence));
}

const Figure* LinkModel::find(std::string_view figure) const {
  const auto at = std::ranges::lower_bound(figures, figure, {}, &Figure::name);
  return at != figures.end() && at->name == figure ? &*at : nullptr;
}

double LinkModel::value(std::string_view figure) const {
  const Figure* found = find(figure);
  if (found == nullptr)
    throw Error(ErrorCode::unsupported,
                fmt::format("the link model {} has no figure {}", quote(name), quote(figure)));
  return found->value;
}

void LinkModel::set(Figure figure) {
  const auto at = place_of(figures, figure.name);
  if (at != figures.end() && at->name == figure.name)
    *at = std::move(figure);
  else
    figures.insert(at, std::move(figure));
}

const std::vector<LinkModel>& link_models() {
  static const std::vector<LinkModel> all = [] {
    std::vector<LinkModel> models;
    for (const auto& text : class_texts())
      if (text.name != base_class) models.push_back(built_in(text.name));
    return models;
  }();
  return all;
}

const LinkModel& link_model_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& model : link_models()) {
    if (model.name == name) return model;
    names.emplace_back(model.name);
  }
  throw Error(ErrorCode::bad_input, fmt::format("there is no link model {}; there are {}",
                                                quote(name), fmt::join(names, ", ")));
}

LinkModel link_model_from_json(std::string_view text, const std::string& name) {
  const JsonDocument document(text, name, limits);
  const auto root = document.root();
  if (root["ringside_link_model"].integer() != 1)
    root["ringside_link_model"].fail("only version 1 of the format is known");
  root.only({"ringside_link_model", "name", "summary", "refines", "figures"});
  LinkModel model;
  if (const auto other = root.find("refines")) model.figures = refined(*other).figures;
  model.name = root["name"].text();
  if (const auto summary = root.find("summary")) model.summary = summary->text();
  for (const auto& [figure, json] : root["figures"].fields()) model.set(read_figure(figure, json));
  return model;
}

std::string link_model_to_json(const LinkModel& model) {
  Json json = {{"ringside_link_model", 1}, {"name", model.name}, {"summary", model.summary}};
  json["figures"] = Json::object();
  for (const auto& figure : model.figures)
    json["figures"][figure.name] = {{"value", figure.value},
                                    {"unit", figure.unit},
                                    {"confidence", to_string(figure.confidence)},
                                    {"source", figure.source}};
  return dump_json(json);
}

}  // namespace ringside
