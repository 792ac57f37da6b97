// SPDX-License-Identifier: MIT
/// CUDA's p2pBandwidthLatencyTest: matrices of bandwidth and latency, also those people type.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/number_table.hpp"
#include "ringside/topology/readers/pair_matrices.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr std::size_t most_matrices = 1000;
constexpr std::size_t most_pairs = 100'000;

/// People's own tables name the GPUs: "GPU3: 53.5 53.6" is "3 53.5 53.6". Nothing when no word
/// does.
std::optional<std::string> with_numbers_for_names(std::string_view line) {
  std::string numbers;
  bool names = false;
  for (auto word : split_blanks(line)) {
    const bool name = word.starts_with("GPU") && word.size() > 3;
    if (name) {
      word.remove_prefix(3);
      if (word.ends_with(':')) word.remove_suffix(1);
      names |= parse_int(word, 0, 1024).has_value();
    }
    numbers += std::string(word) + " ";
  }
  return names ? std::optional(numbers) : std::nullopt;
}

/// The number of columns of "Dst   GPU0   GPU1   GPU2", with or without the corner.
std::optional<int> read_named_columns(std::string_view line) {
  const auto start = line.find("GPU0");
  const auto numbers =
      start == std::string_view::npos ? std::nullopt : with_numbers_for_names(line.substr(start));
  const auto columns = numbers ? read_column_numbers(*numbers) : std::nullopt;
  return columns && *columns > 1 ? columns : std::nullopt;
}

/// "GPU3:  53.5   53.6    -".
std::optional<std::string> read_named_row(std::string_view line) {
  if (!line.starts_with("GPU") || line.find('.') == std::string_view::npos) return std::nullopt;
  return with_numbers_for_names(line);
}

class TestReader {
 public:
  std::vector<Reading> read(const Text& text) {
    for (const auto& line : text.lines) look_at(line);
    close();
    std::vector<Reading> readings;
    if (test_.matrices.empty()) return readings;
    readings.push_back(Reading{.reader = "p2pBandwidthLatencyTest",
                               .source = {},
                               .first_line = first_line_,
                               .last_line = last_line_,
                               .facts = std::move(test_),
                               .findings = std::move(findings_)});
    return readings;
  }

 private:
  void look_at(const TextLine& raw) {
    const auto line = without_comment_mark(raw.text);
    if (line.empty()) return;
    if (read_device(line)) {
      if (first_line_ == 0) first_line_ = raw.number;
      last_line_ = raw.number;
      return;
    }
    for (const std::string_view corner : {"D\\D", "GPU", "CPU"})
      if (line.starts_with(corner))
        if (const auto columns = read_column_numbers(line.substr(corner.size()))) {
          return open(corner, *columns, raw.number);
        }
    if (const auto columns = read_named_columns(line)) return open("D\\D", *columns, raw.number);
    const auto named = read_named_row(line);
    if (add_row(named ? std::string_view(*named) : line, raw.number)) return;
    if (line.find("Matrix") != std::string_view::npos) {
      close();
      title_ = line;
      titled_ = true;
    } else if (is_open_ && line.find_first_not_of(". ") == std::string_view::npos) {
      return;  // an ellipsis
    } else if (is_open_) {
      close();
      title_.reset();
    }
  }

  bool read_device(std::string_view line) {
    if (line.starts_with("Device: ")) {
      ++test_.listed_devices;
      const auto comma = line.find(',');
      const auto number = parse_int(trim(line.substr(8, comma - 8)), 0, 10'000);
      if (number && comma != std::string_view::npos) {
        const auto rest = line.substr(comma + 1);
        test_.devices.push_back(
            {.number = static_cast<int>(*number),
             .model = std::string(trim(rest.substr(0, rest.find(", pciBusID")))),
             .address = read_address(rest)});
      }
      return true;
    }
    if (!line.starts_with("Device=")) return false;
    const bool can = line.find(" CAN Access") != std::string_view::npos;
    const bool cannot = line.find(" CANNOT Access") != std::string_view::npos;
    test_.can_access_lines += can;
    test_.cannot_access_lines += cannot;
    if (can || cannot) read_access(line, can);
    return true;
  }

  /// "..., pciBusID: 5d, pciDeviceID: 0, pciDomainID:0", all hexadecimal.
  static std::optional<PciAddress> read_address(std::string_view rest) {
    const auto field = [&](std::string_view name) -> std::string {
      const auto at = rest.find(name);
      if (at == std::string_view::npos) return "";
      const auto value = trim(rest.substr(at + name.size()));
      return std::string(value.substr(0, value.find_first_of(", ")));
    };
    const auto bus = field("pciBusID:"), device = field("pciDeviceID:"),
               domain = field("pciDomainID:");
    if (bus.size() > 2 || device.size() > 2 || domain.size() > 8) return std::nullopt;
    return parse_pci_address(fmt::format("{:0>4}:{:0>2}:{:0>2}.0", domain, bus, device));
  }

  /// "Device=0 CAN Access Peer Device=1".
  void read_access(std::string_view line, bool can) {
    const auto number = [](std::string_view text) {
      return parse_int(text.substr(0, text.find(' ')), 0, 10'000);
    };
    const auto second = line.find("Device=", 7);
    if (second == std::string_view::npos) return;
    const auto device = number(line.substr(7)), peer = number(line.substr(second + 7));
    if (device && peer && test_.access.size() < most_pairs)
      test_.access.push_back({.device = static_cast<int>(*device),
                              .peer = static_cast<int>(*peer),
                              .can_access = can});
  }

  void open(std::string_view corner, int columns, int number) {
    close();
    if (test_.matrices.size() >= most_matrices) return;
    PairMatrix matrix;
    matrix.title = title_;
    // The latency test prints what the GPU and what the processor saw under one title.
    if (matrix.title && corner == "CPU") *matrix.title += " / CPU";
    if (corner == "D\\D") title_.reset();
    matrix.columns = columns;
    start(std::move(matrix), number);
  }

  void start(PairMatrix matrix, int number) {
    if (first_line_ == 0) first_line_ = number;
    test_.matrices.push_back(std::move(matrix));
    is_open_ = true;
  }

  /// A row belongs to the open matrix; without one, to a matrix whose head is cut off.
  bool add_row(std::string_view line, int number) {
    const int columns = is_open_ ? test_.matrices.back().columns : 1024;
    const auto row = read_number_row(line, columns);
    if (!row) return false;
    if (!is_open_) {
      // Only where the text begins, and only what looks like such a row: decimals.
      if (!test_.matrices.empty() || titled_ || row->cells.size() < 2 ||
          line.find('.') == std::string_view::npos || row->id == 0)
        return false;
      PairMatrix matrix;
      matrix.columns = static_cast<int>(row->cells.size());
      start(std::move(matrix), number);
    }
    auto& matrix = test_.matrices.back();
    if (static_cast<int>(row->cells.size()) < matrix.columns) {
      cut_row_ = number;
      ++matrix.partial_rows;
      return true;
    }
    if (!matrix.row_ids.empty() && row->id <= matrix.row_ids.back()) return false;
    matrix.row_ids.push_back(row->id);
    matrix.values.push_back(row->cells);
    last_line_ = number;
    return true;
  }

  void close() {
    if (!is_open_) return;
    is_open_ = false;
    if (test_.matrices.back().values.empty()) {
      test_.matrices.pop_back();
      return;
    }
    if (test_.matrices.back().complete()) return;
    test_.truncated = true;
    findings_.push_back({Severity::warning, cut_row_ > 0 ? cut_row_ : last_line_,
                         "rows of this matrix are missing or cut"});
    cut_row_ = 0;
  }

  PeerBandwidthTest test_;
  std::vector<Finding> findings_;
  std::optional<std::string> title_;
  bool is_open_ = false, titled_ = false;
  int first_line_ = 0, last_line_ = 0, cut_row_ = 0;
};

/// Rows without a head alone would be taken from any table of numbers.
bool mentions_test(const Text& text) {
  return std::ranges::any_of(text.lines, [](const TextLine& line) {
    const auto content = without_comment_mark(line.text);
    const auto named = read_named_row(content);
    const auto row = named ? read_number_row(*named, 1024) : std::nullopt;
    return (row && row->cells.size() > 1) || content.starts_with("D\\D") ||
           line.text.find("P2P=") != std::string::npos ||
           line.text.find("P2P Connectivity Matrix") != std::string::npos;
  });
}

}  // namespace

std::vector<Reading> read_peer_bandwidth_test(const Text& text) {
  return mentions_test(text) ? TestReader().read(text) : std::vector<Reading>();
}

}  // namespace ringside
