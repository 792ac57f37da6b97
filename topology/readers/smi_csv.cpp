// SPDX-License-Identifier: MIT
/// `nvidia-smi --query-gpu=index,pci.bus_id,pcie.link.gen.current,... --format=csv`.
#include <algorithm>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/pcie_status.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

using Fields = std::vector<std::string>;

Fields fields_of(std::string_view line) {
  Fields fields;
  for (const auto field : split(line, ',')) fields.emplace_back(trim(field));
  return fields;
}

/// "pcie.link.width.max", without the unit that some columns name ("memory.total [MiB]").
std::string column_name(const std::string& field) {
  return std::string(trim(std::string_view(field).substr(0, field.find('['))));
}

bool is_header(const Fields& fields) {
  const auto known = [](const std::string& field) {
    return field.starts_with("pcie.link.") || field.starts_with("pci.bus_id");
  };
  return fields.size() > 1 && std::ranges::any_of(fields, known);
}

void take(PcieStatus& gpu, const std::string& column, const std::string& value) {
  const auto number = parse_int(value.substr(0, value.find(' ')), 0, 100'000);
  if (column == "pci.bus_id" || column == "gpu_bus_id") gpu.bus_id = value;
  if (column == "name" || column == "gpu_name") gpu.model = value;
  if (!number) return;
  const int n = static_cast<int>(*number);
  if (column == "index") gpu.index = n;
  if (column == "utilization.gpu") gpu.utilization = n;
  if (column == "pcie.link.gen.max") gpu.generation["Max"] = n;
  if (column == "pcie.link.gen.current" || column == "pcie.link.gen.gpucurrent")
    gpu.generation["Current"] = n;
  if (column == "pcie.link.gen.gpumax") gpu.generation["Device Max"] = n;
  if (column == "pcie.link.gen.hostmax") gpu.generation["Host Max"] = n;
  if (column == "pcie.link.width.max") gpu.width["Max"] = n;
  if (column == "pcie.link.width.current") gpu.width["Current"] = n;
}

}  // namespace

std::vector<Reading> read_smi_csv(const Text& text) {
  std::vector<Reading> readings;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    if (text.lines[i].text.find("pci") == std::string::npos) continue;
    Fields columns = fields_of(text.lines[i].text);
    if (!is_header(columns)) continue;
    std::ranges::transform(columns, columns.begin(), column_name);
    const int first_line = text.lines[i].number;
    SmiCsv csv;
    std::vector<Finding> findings;
    while (i + 1 < text.lines.size()) {
      const Fields row = fields_of(text.lines[i + 1].text);
      if (row.size() < 2 || is_header(row)) break;
      ++i;
      if (row.size() != columns.size()) {
        findings.push_back({Severity::warning, text.lines[i].number,
                            "this row has fewer or more fields than the header: not read"});
        continue;
      }
      auto& gpu = csv.gpus.emplace_back();
      for (std::size_t k = 0; k < row.size(); ++k) take(gpu, columns[k], row[k]);
    }
    if (csv.gpus.empty()) continue;
    readings.push_back(Reading{.reader = "nvidia-smi --query-gpu CSV",
                               .source = {},
                               .first_line = first_line,
                               .last_line = text.lines[i].number,
                               .facts = std::move(csv),
                               .findings = std::move(findings)});
  }
  return readings;
}

}  // namespace ringside
