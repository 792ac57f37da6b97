// SPDX-License-Identifier: MIT
/// NVIDIA's nvbandwidth: a matrix for each test, with its sum.
#include <algorithm>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/number_table.hpp"
#include "ringside/topology/readers/pair_matrices.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr std::size_t most_tests = 1000;

class BandwidthReader {
 public:
  std::vector<Reading> read(const Text& text) {
    for (const auto& line : text.lines) look_at(line);
    finish();
    std::vector<Reading> readings;
    if (facts_.tests.empty()) return readings;
    readings.push_back(Reading{.reader = "nvbandwidth",
                               .source = {},
                               .first_line = first_line_,
                               .last_line = last_line_,
                               .facts = std::move(facts_),
                               .findings = std::move(findings_)});
    return readings;
  }

 private:
  void look_at(const TextLine& raw) {
    const auto line = trim(raw.text);
    if (line.starts_with("Running ") && line.ends_with('.')) {
      finish();
      test_ = line.substr(8, line.size() - 9);
      open(raw.number);
      return;
    }
    // A test may have several matrices, and people paste them without what stands above.
    if (is_description(line)) {
      finish();
      open(raw.number);
      if (current_) current_->description = line;
      return;
    }
    if (!current_) return read_device(line);
    if (current_->columns == 0) {
      if (const auto columns = read_column_numbers(line)) current_->columns = *columns;
      return;
    }
    if (line.starts_with("SUM ")) return read_sum(line, raw.number);
    const auto row = read_number_row(line, current_->columns);
    // Host tests print one row of numbers under their columns.
    if (!row || static_cast<int>(row->cells.size()) != current_->columns) return;
    current_->row_ids.push_back(row->id);
    current_->values.push_back(row->cells);
    last_line_ = raw.number;
  }

  /// "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)".
  static bool is_description(std::string_view line) {
    return line.find("(column)") != std::string_view::npos && line.ends_with("s)") &&
           (line.find("(GB/s)") != std::string_view::npos ||
            line.find("(ns)") != std::string_view::npos ||
            line.find("(us)") != std::string_view::npos);
  }

  void open(int number) {
    if (facts_.tests.size() >= most_tests) return;
    current_.emplace();
    current_->title = test_;
    if (first_line_ == 0) first_line_ = number;
    last_line_ = number;
  }

  /// "Device 0: NVIDIA H100 (00000000:07:00)"; processes of several nodes count anew.
  void read_device(std::string_view line) {
    if (!line.starts_with("Device ")) return;
    const auto colon = line.find(':');
    const auto number = parse_int(line.substr(7, colon - 7), 0, 10'000);
    if (number && facts_.devices.size() < most_tests)
      facts_.devices.push_back(
          nvbandwidth_device(static_cast<int>(*number), line.substr(colon + 1)));
  }

  void read_sum(std::string_view line, int number) {
    const auto words = split_blanks(line);
    last_line_ = number;
    // Where a test has several matrices, the sum's name tells which this one is.
    if (words.size() == 3 && words[1].starts_with(test_)) {
      current_->sum = parse_number(words[2]);
      if (current_->sum) current_->title = std::string(words[1]);
    }
    if (!current_->sum) {
      facts_.truncated = true;
      findings_.push_back({Severity::warning, number, "the sum is cut"});
    }
    finish(true);
  }

  void finish(bool whole = false) {
    if (!current_) return;
    if (!current_->values.empty()) {
      if (!whole && !test_.empty()) {
        facts_.truncated = true;
        findings_.push_back({Severity::warning, last_line_, "this test's end is missing"});
      }
      if (current_->title == "") current_->title.reset();
      facts_.tests.push_back(std::move(*current_));
    }
    current_.reset();
  }

  NvBandwidth facts_;
  std::optional<PairMatrix> current_;
  std::string test_;  // the name that the last "Running" told
  std::vector<Finding> findings_;
  int first_line_ = 0, last_line_ = 0;
};

}  // namespace

MeasuredDevice nvbandwidth_device(int number, std::string_view text) {
  MeasuredDevice device{.number = number, .model = {}, .address = {}};
  const auto bracket = text.find('(');
  device.model = trim(text.substr(0, bracket));
  if (bracket == std::string_view::npos) return device;
  auto address = text.substr(bracket + 1, text.find(')', bracket) - bracket - 1);
  if (address.starts_with("PCI:")) address.remove_prefix(4);
  device.address = parse_pci_address(std::string(address) + ".0");  // "00000000:07:00"
  if (!device.address) device.address = parse_pci_address(address);
  return device;
}

std::vector<Reading> read_nvbandwidth(const Text& text) { return BandwidthReader().read(text); }

}  // namespace ringside
