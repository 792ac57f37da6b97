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
      if (facts_.tests.size() >= most_tests) return;
      current_.emplace();
      current_->title = std::string(line.substr(8, line.size() - 9));
      if (first_line_ == 0) first_line_ = raw.number;
      last_line_ = raw.number;
      return;
    }
    if (!current_) return;
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

  void read_sum(std::string_view line, int number) {
    const auto words = split_blanks(line);
    last_line_ = number;
    if (words.size() == 3 && words[1] == *current_->title) current_->sum = parse_number(words[2]);
    if (!current_->sum) {
      facts_.truncated = true;
      findings_.push_back({Severity::warning, number, "the sum is cut"});
    }
    finish(true);
  }

  void finish(bool whole = false) {
    if (!current_) return;
    if (!current_->values.empty()) {
      if (!whole) {
        facts_.truncated = true;
        findings_.push_back({Severity::warning, last_line_, "this test's end is missing"});
      }
      facts_.tests.push_back(std::move(*current_));
    }
    current_.reset();
  }

  NvBandwidth facts_;
  std::optional<PairMatrix> current_;
  std::vector<Finding> findings_;
  int first_line_ = 0, last_line_ = 0;
};

}  // namespace

std::vector<Reading> read_nvbandwidth(const Text& text) { return BandwidthReader().read(text); }

}  // namespace ringside
