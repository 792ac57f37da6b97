// SPDX-License-Identifier: MIT
/// `rocm-smi --showtopo --json`: an object with a field for each pair, "(Topology) Link type
/// between DRM devices 0 and 1", and one for each card. Only pairs with the smaller number first
/// are there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/json_text.hpp"
#include "ringside/topology/readers/reading.hpp"
#include "ringside/topology/readers/rocm.hpp"

namespace ringside {
namespace {

constexpr int most_gpus = 256;
constexpr std::string_view mark = "(Topology) ";

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> quantities = {
    {{"Weight", "weight"},
     {"Hops", "hops"},
     {"Link type", "link_type"},
     {"Link accessible", "access"}}};

/// What a field says of a pair.
struct PairField {
  std::string_view section;
  std::size_t first = 0, second = 0;
};

std::optional<PairField> pair_of(std::string_view key) {
  if (!key.starts_with(mark)) return std::nullopt;
  key.remove_prefix(mark.size());
  constexpr std::string_view between = " between DRM devices ", word = " and ";
  const auto at = key.find(between);
  if (at == std::string_view::npos) return std::nullopt;
  const auto known =
      std::ranges::find(quantities, key.substr(0, at), &decltype(quantities)::value_type::first);
  const auto numbers = key.substr(at + between.size());
  const auto middle = numbers.find(word);
  if (known == quantities.end() || middle == std::string_view::npos) return std::nullopt;
  const auto first = parse_int(numbers.substr(0, middle), 0, most_gpus - 1);
  const auto second = parse_int(numbers.substr(middle + word.size()), 0, most_gpus - 1);
  if (!first || !second) return std::nullopt;
  return PairField{.section = known->second,
                   .first = static_cast<std::size_t>(*first),
                   .second = static_cast<std::size_t>(*second)};
}

std::string text_of(const JsonValue& value) {
  return value.is_string()   ? value.text()
         : value.is_number() ? fmt::format("{:g}", value.number())
                             : "";
}

class RocmJsonReader {
 public:
  std::optional<RocmTopology> read(const JsonValue& root) {
    if (!root.is_object()) return std::nullopt;
    for (const auto& [name, part] : root.fields()) {
      if (!part.is_object()) continue;
      for (const auto& [key, value] : part.fields()) {
        if (const auto pair = pair_of(key)) note_pair(*pair, text_of(value));
        if (name.starts_with("card")) note_card(name.substr(4), key, text_of(value));
      }
    }
    if (gpus_ == 0) return std::nullopt;
    return finish();
  }

 private:
  void note_pair(const PairField& pair, std::string value) {
    gpus_ = std::max({gpus_, pair.first + 1, pair.second + 1});
    cells_[std::string(pair.section)][{pair.first, pair.second}] = std::move(value);
  }

  void note_card(std::string_view number, std::string_view key, const std::string& value) {
    const auto card = parse_int(number, 0, most_gpus - 1);
    const auto node = parse_int(value, -1, 100'000);
    const bool is_node = key == "(Topology) Numa Node";
    if (!card || !node || (!is_node && key != "(Topology) Numa Affinity")) return;
    gpus_ = std::max(gpus_, static_cast<std::size_t>(*card) + 1);
    auto& column = is_node ? facts_.numa_node : facts_.numa_affinity;
    column[fmt::format("GPU{}", *card)] = static_cast<int>(*node);
  }

  RocmTopology finish() {
    for (std::size_t i = 0; i < gpus_; ++i) facts_.names.push_back(fmt::format("GPU{}", i));
    for (const auto& [section, pairs] : cells_) {
      auto& cells = facts_.matrices[section];
      cells.resize(gpus_ * gpus_);
      for (std::size_t i = 0; i < gpus_; ++i) cells[i * gpus_ + i] = "0";
      for (const auto& [pair, value] : pairs) {
        auto& mirror = cells[pair.second * gpus_ + pair.first];
        if (mirror.empty()) mirror = value;
        cells[pair.first * gpus_ + pair.second] = value;
      }
    }
    return std::move(facts_);
  }

  RocmTopology facts_;
  std::size_t gpus_ = 0;
  std::map<std::string, std::map<std::pair<std::size_t, std::size_t>, std::string>> cells_;
};

}  // namespace

std::vector<Reading> read_rocm_json(const Text& text) {
  std::vector<Reading> readings;
  for (const auto& section : json_sections(text, "\"(Topology) ")) {
    const JsonDocument document(section.json, "rocm-smi", report_limits);
    auto facts = RocmJsonReader().read(document.root());
    if (!facts) continue;
    readings.push_back(Reading{.reader = "rocm-smi --showtopo",
                               .source = {},
                               .first_line = section.first_line,
                               .last_line = section.last_line,
                               .facts = std::move(*facts),
                               .findings = {}});
  }
  return readings;
}

}  // namespace ringside
