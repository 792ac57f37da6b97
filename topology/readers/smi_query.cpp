// SPDX-License-Identifier: MIT
/// `nvidia-smi -q`: indented keys with values behind a colon, sections that say what a key is of.
#include <algorithm>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/pcie_status.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr std::size_t most_gpus = 1024;

enum class Section { other, generation, width, bar1, memory, utilization };

std::optional<Section> section_named(std::string_view title) {
  if (title == "PCIe Generation") return Section::generation;
  if (title == "Link Width") return Section::width;
  if (title == "BAR1 Memory Usage") return Section::bar1;
  if (title == "FB Memory Usage") return Section::memory;
  if (title == "Utilization") return Section::utilization;
  return std::nullopt;
}

/// "16x" -> 16, "32768 MiB" -> 32768.
std::optional<int> leading_number(std::string_view value) {
  value = trim(value);
  const auto end = std::min(value.find_first_not_of("0123456789"), value.size());
  const auto number = parse_int(value.substr(0, end), 0, 100'000'000);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

class QueryReader {
 public:
  std::vector<Reading> read(const Text& text) {
    for (const auto& line : text.lines) look_at(line);
    std::vector<Reading> readings;
    std::erase_if(query_.gpus, [](const PcieStatus& gpu) {
      return gpu.generation.empty() && gpu.width.empty() && gpu.bar1_mib.empty();
    });
    if (!query_.gpus.empty())
      readings.push_back(Reading{.reader = "nvidia-smi -q",
                                 .source = {},
                                 .first_line = first_line_,
                                 .last_line = last_line_,
                                 .facts = std::move(query_),
                                 .findings = {}});
    return readings;
  }

 private:
  void look_at(const TextLine& line) {
    const auto text = trim(line.text);
    if (text.empty()) return;
    if (const auto bus = bus_of_header(text)) return start_gpu(*bus);
    if (const auto section = section_named(text)) return void(section_ = *section);
    const auto colon = text.find(" : ");
    if (colon == std::string_view::npos) {
      if (section_ != Section::other) section_ = Section::other;
      return;
    }
    if (take(trim(text.substr(0, colon)), trim(text.substr(colon + 3)))) {
      if (first_line_ == 0) first_line_ = line.number;
      last_line_ = line.number;
    }
  }

  /// "GPU 00000000:01:00.0" starts the next one.
  static std::optional<std::string> bus_of_header(std::string_view text) {
    if (!text.starts_with("GPU ")) return std::nullopt;
    const auto bus = trim(text.substr(4));
    return parse_pci_address(bus) ? std::optional(std::string(bus)) : std::nullopt;
  }

  void start_gpu(const std::string& bus) {
    section_ = Section::other;
    if (query_.gpus.size() < most_gpus) query_.gpus.emplace_back().bus_id = bus;
  }

  PcieStatus& gpu() {
    if (query_.gpus.empty()) query_.gpus.emplace_back();
    return query_.gpus.back();
  }

  bool take(std::string_view key, std::string_view value) {
    if (key == "Product Name") return gpu().model = value, true;
    if (key == "Bus Id") return gpu().bus_id = value, true;
    const auto number = leading_number(value);
    if (!number) return false;
    const bool link_key = key.ends_with("Max") || key.ends_with("Current");
    if (section_ == Section::generation && link_key)
      return gpu().generation[std::string(key)] = *number, true;
    if (section_ == Section::width && link_key)
      return gpu().width[std::string(key)] = *number, true;
    if (section_ == Section::bar1 && (key == "Total" || key == "Used" || key == "Free"))
      return gpu().bar1_mib[to_lower(key)] = *number, true;
    if (section_ == Section::utilization && to_lower(key) == "gpu")
      return gpu().utilization = *number, true;
    if (key == "Replays Since Reset") return gpu().replays = *number, true;
    if (section_ == Section::memory && key == "Total") return gpu().memory_mib = *number, true;
    return false;
  }

  SmiQuery query_;
  Section section_ = Section::other;
  int first_line_ = 0, last_line_ = 0;
};

}  // namespace

std::vector<Reading> read_smi_query(const Text& text) { return QueryReader().read(text); }

}  // namespace ringside
