// SPDX-License-Identifier: MIT
/// `amd-smi topology`: tables between GPUs that are named by their bus addresses, as text or JSON.
/// The GPUs are in amd-smi's order, so they are numbered by it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/json_text.hpp"
#include "ringside/topology/readers/reading.hpp"
#include "ringside/topology/readers/rocm.hpp"

namespace ringside {
namespace {

constexpr std::size_t most_gpus = 256;

/// The tables that are kept, under the names of rocm-smi's.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> tables = {
    {{"ACCESS TABLE", "access"},
     {"WEIGHT TABLE", "weight"},
     {"HOPS TABLE", "hops"},
     {"LINK TYPE TABLE", "link_type"},
     {"NUMA BW TABLE", "bandwidth"}}};

/// "LINK TYPE TABLE:" -> "LINK TYPE TABLE"; nothing for other lines.
std::optional<std::string_view> title_of(std::string_view line) {
  line = trim(line);
  if (!line.ends_with(':')) return std::nullopt;
  line.remove_suffix(1);
  const bool capitals = std::ranges::all_of(
      line, [](char c) { return (c >= 'A' && c <= 'Z') || c == ' ' || c == '-'; });
  return capitals && line.ends_with(" TABLE") ? std::optional(line) : std::nullopt;
}

std::vector<std::string> addresses_in(std::string_view line) {
  std::vector<std::string> addresses;
  for (const auto word : split_blanks(line)) {
    const auto address = parse_pci_address(word);
    if (!address) return {};
    addresses.push_back(to_string(*address));
  }
  return addresses.size() > most_gpus ? std::vector<std::string>() : addresses;
}

/// rocm-smi has "0" where amd-smi has "SELF".
std::string cell_of(std::string_view word) {
  return word == "SELF" ? "0" : word == "N/A" ? "" : std::string(word);
}

void name_gpus(RocmTopology& facts, std::vector<std::string> addresses) {
  facts.addresses = std::move(addresses);
  for (std::size_t i = 0; i < facts.addresses.size(); ++i)
    facts.names.push_back(fmt::format("GPU{}", i));
}

Reading reading_of(RocmTopology facts, int first_line, int last_line) {
  std::vector<Finding> findings;
  if (facts.truncated)
    findings.push_back(
        {Severity::warning, last_line, "a table is cut or has cells that cannot be read"});
  return Reading{.reader = "amd-smi topology",
                 .source = {},
                 .first_line = first_line,
                 .last_line = last_line,
                 .facts = std::move(facts),
                 .findings = std::move(findings)};
}

class TextReader {
 public:
  std::optional<Reading> read(const Text& text) {
    for (const auto& line : text.lines) look_at(line);
    close();
    if (facts_.names.empty()) return std::nullopt;
    return reading_of(std::move(facts_), first_line_, last_line_);
  }

 private:
  void look_at(const TextLine& raw) {
    if (const auto title = title_of(raw.text)) return open(*title, raw.number);
    if (!table_) return;
    const auto words = split_blanks(raw.text);
    if (words.empty()) return;
    if (rows_ == 0 && !has_header_) {
      read_header(raw);
      return;
    }
    const auto address = parse_pci_address(words.front());
    const auto row =
        address ? std::ranges::find(facts_.addresses, to_string(*address)) : facts_.addresses.end();
    if (row == facts_.addresses.end()) return close();
    read_row(static_cast<std::size_t>(row - facts_.addresses.begin()), words);
    last_line_ = raw.number;
  }

  void open(std::string_view title, int number) {
    close();
    const auto known = std::ranges::find(tables, title, &decltype(tables)::value_type::first);
    if (known == tables.end() || facts_.matrices.contains(std::string(known->second))) return;
    table_ = known->second;
    title_line_ = number;
  }

  void read_header(const TextLine& raw) {
    auto addresses = addresses_in(raw.text);
    if (addresses.empty()) return table_.reset();
    auto sorted = addresses;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) return table_.reset();
    if (facts_.names.empty())
      name_gpus(facts_, std::move(addresses));
    else if (facts_.addresses != addresses)
      throw Error(ErrorCode::bad_input,
                  fmt::format("line {}: the tables of amd-smi have different GPUs", raw.number));
    has_header_ = true;
    facts_.matrices[std::string(*table_)].resize(facts_.names.size() * facts_.names.size());
    if (first_line_ == 0) first_line_ = title_line_;
    last_line_ = raw.number;
  }

  void read_row(std::size_t row, const std::vector<std::string_view>& words) {
    ++rows_;
    const std::size_t n = facts_.names.size();
    auto& cells = facts_.matrices[std::string(*table_)];
    for (std::size_t i = 0; i < n; ++i) {
      if (i + 1 >= words.size()) {
        facts_.truncated = true;
        return;
      }
      cells[row * n + i] = cell_of(words[i + 1]);
    }
  }

  void close() {
    if (table_ && has_header_ && rows_ < facts_.names.size()) facts_.truncated = true;
    table_.reset();
    has_header_ = false;
    rows_ = 0;
  }

  RocmTopology facts_;
  std::optional<std::string_view> table_;
  bool has_header_ = false;
  std::size_t rows_ = 0;
  int title_line_ = 0, first_line_ = 0, last_line_ = 0;
};

/// The list that `amd-smi topology --json` prints has an object for each GPU.
std::optional<Reading> read_json(const Text& text) {
  std::vector<JsonSection> sections = json_sections(text, "\"link_type\"");
  if (sections.empty()) return std::nullopt;
  RocmTopology facts;
  std::vector<std::string> addresses;
  std::vector<std::unique_ptr<JsonDocument>> documents;
  for (const auto& section : sections) {
    documents.push_back(std::make_unique<JsonDocument>(section.json, "amd-smi", report_limits));
    const auto root = documents.back()->root();
    if (!root.find("bdf") || !root.find("links")) return std::nullopt;
    const auto address = parse_pci_address(root["bdf"].text());
    if (!address) root["bdf"].fail("no PCI address");
    addresses.push_back(to_string(*address));
  }
  if (addresses.size() > most_gpus) return std::nullopt;
  name_gpus(facts, addresses);
  const std::size_t n = addresses.size();
  const std::array<std::pair<const char*, const char*>, 5> keys = {{{"link_status", "access"},
                                                                    {"weight", "weight"},
                                                                    {"num_hops", "hops"},
                                                                    {"link_type", "link_type"},
                                                                    {"bandwidth", "bandwidth"}}};
  for (std::size_t i = 0; i < n; ++i)
    for (const auto& link : documents[i]->root()["links"].items()) {
      const auto address = parse_pci_address(link["bdf"].text());
      const auto peer =
          address ? std::ranges::find(addresses, to_string(*address)) : addresses.end();
      if (peer == addresses.end()) continue;
      for (const auto& [key, name] : keys) {
        const auto value = link.find(key);
        if (!value || value->is_null()) continue;
        auto& cells = facts.matrices[name];
        cells.resize(n * n);
        cells[i * n + static_cast<std::size_t>(peer - addresses.begin())] =
            value->is_string() ? cell_of(value->text()) : fmt::format("{:g}", value->number());
      }
    }
  return reading_of(std::move(facts), sections.front().first_line, sections.back().last_line);
}

}  // namespace

std::vector<Reading> read_amd_smi(const Text& text) {
  std::vector<Reading> readings;
  if (auto reading = TextReader().read(text)) readings.push_back(std::move(*reading));
  if (readings.empty())
    if (auto reading = read_json(text)) readings.push_back(std::move(*reading));
  return readings;
}

}  // namespace ringside
