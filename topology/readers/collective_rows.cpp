// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/collective_rows.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::size_t most_rows = 100'000;

/// Whole numbers, also with underscores between the digits.
std::optional<std::uint64_t> whole(std::string_view word) {
  if (word.empty() || word.front() == '_') return std::nullopt;
  std::string digits(word);
  std::erase(digits, '_');
  const auto number = parse_int(digits);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

/// Time, algbw, busbw and perhaps a check. False when it is anything else; nothing in `timing`
/// where all are N/A.
bool read_timing(Words words, std::optional<CollectiveTiming>& timing) {
  if (std::ranges::all_of(words, [](std::string_view word) { return word == "N/A"; })) return true;
  const auto time = parse_number(words[0]), algbw = parse_number(words[1]),
             busbw = parse_number(words[2]);
  if (!time || !algbw || !busbw) return false;
  std::string check;
  if (words.size() > 3) {
    if (words[3] != "N/A" && !parse_number(words[3])) return false;
    check = words[3];
  }
  timing = CollectiveTiming{*time, *algbw, *busbw, check};
  return true;
}

/// 13 fields, or 12 and 11 without root and operation, or 4.
std::optional<CollectiveRow> read_row(Words words) {
  CollectiveRow row;
  row.fields = words.size();
  row.size = *whole(words[0]);
  if (words.size() == 4) {
    if (!read_timing(words.subspan(1), row.out_of_place)) return std::nullopt;
    return row;
  }
  if (words.size() < 11 || words.size() > 13) return std::nullopt;
  row.count = whole(words[1]);
  row.type = words[2];
  // Between the type and the numbers: operation, root, both or neither.
  for (const auto word : words.subspan(3, words.size() - 11)) {
    if (const auto root = parse_int(word, -1, 1 << 20))
      row.root = static_cast<int>(*root);
    else
      row.operation = word;
  }
  const auto numbers = words.last(8);
  if (!row.count || !read_timing(numbers.first(4), row.out_of_place) ||
      !read_timing(numbers.last(4), row.in_place))
    return std::nullopt;
  return row;
}

/// "|   32KiB |   1.44GBps |   0.82GBps |" under "| payload | busbw | algbw |".
std::optional<CollectiveRow> read_payload_row(std::string_view line) {
  std::vector<std::string_view> cells;
  for (const auto cell : split(line, '|'))
    if (!trim(cell).empty()) cells.push_back(trim(cell));
  if (cells.size() != 3) return std::nullopt;
  const auto size = parse_size(cells[0]);
  const auto rate = [](std::string_view cell) {
    if (cell.ends_with("GBps")) cell.remove_suffix(4);
    return parse_number(trim(cell));
  };
  const auto busbw = rate(cells[1]), algbw = rate(cells[2]);
  if (!size || !busbw || !algbw) return std::nullopt;
  CollectiveRow row;
  row.size = *size;
  row.fields = 3;
  row.out_of_place = CollectiveTiming{.time_us = 0, .algbw = *algbw, .busbw = *busbw, .check = ""};
  return row;
}

/// "all_reduce_perf" -> "all_reduce", wherever it stands.
std::optional<std::string> named_collective(std::string_view line) {
  const auto end = line.find("_perf");
  if (end == std::string_view::npos) {
    return line.find("all_reduce_bench") != std::string_view::npos
               ? std::optional<std::string>("all_reduce")
               : std::nullopt;
  }
  std::size_t start = end;
  while (start > 0 &&
         (std::islower(static_cast<unsigned char>(line[start - 1])) != 0 || line[start - 1] == '_'))
    --start;
  if (start == end) return std::nullopt;
  return std::string(line.substr(start, end - start));
}

std::optional<ListedRank> read_listed_rank(Words words) {
  constexpr int most = 1 << 20;
  const auto on = std::ranges::find(words, "on"), device = std::ranges::find(words, "device");
  if (words.size() < 3 || words.end() - on < 2 || words.end() - device < 2 || device < on)
    return std::nullopt;
  const auto rank = parse_int(words[2], 0, most), number = parse_int(device[1], 0, most);
  if (!rank || !number) return std::nullopt;
  ListedRank listed{.rank = static_cast<int>(*rank),
                    .host = std::string(device - on > 1 ? on[1] : std::string_view()),
                    .device = static_cast<int>(*number),
                    .model = {}};
  for (auto word = device + 2; word != words.end(); ++word) {
    if (word->starts_with('[')) continue;  // the bus
    if (!listed.model.empty()) listed.model += ' ';
    listed.model += *word;
  }
  return listed;
}

class RowsReader {
 public:
  std::vector<Reading> read(const Text& text) {
    for (const auto& line : text.lines) look_at(line);
    std::vector<Reading> readings;
    if (facts_.rows.empty()) return readings;
    infer();
    find_cut();
    int backwards = 0;
    for (std::size_t i = 1; i < facts_.rows.size(); ++i)
      backwards += facts_.rows[i].size < facts_.rows[i - 1].size;
    facts_.runs_interleaved = backwards > 1;
    readings.push_back(Reading{.reader = facts_.payload_table ? "payload, busbw, algbw table"
                                         : facts_.rccl        ? "rccl-tests"
                                                              : "nccl-tests",
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
    note_head(line);
    note_footer(line, raw.number);
    if (facts_.payload_table && line.starts_with('|')) {
      if (auto row = read_payload_row(line)) return add(std::move(*row), raw.number);
    }
    const auto words = split_blanks(line);
    if (words.empty() || !whole(words[0]) || words.size() < 3) {
      if (!words.empty() && whole(words[0]) && first_line_ > 0) note_incomplete(raw.number);
      return;
    }
    if (auto row = read_row(words))
      add(std::move(*row), raw.number);
    else if (first_line_ > 0)
      note_incomplete(raw.number);
  }

  void add(CollectiveRow row, int number) {
    if (first_line_ == 0) first_line_ = number;
    last_line_ = number;
    last_row_line_ = number;
    if (facts_.rows.size() < most_rows) facts_.rows.push_back(std::move(row));
  }

  void note_incomplete(int number) {
    facts_.has_incomplete_rows = true;
    findings_.push_back({Severity::warning, number, "this row is cut"});
  }

  void note_head(std::string_view line) {
    if (line.find("rccl") != std::string_view::npos ||
        line.find("RCCL") != std::string_view::npos ||
        line.find("Errors with asterisks") != std::string_view::npos)  // a footnote of theirs
      facts_.rccl = true;
    if (line.starts_with('|') && line.find("payload") != std::string_view::npos &&
        line.find("busbw") != std::string_view::npos)
      facts_.payload_table = true;
    if (!facts_.collective) facts_.collective = named_collective(line);
    if (const auto code = behind(line, "nccl-library="))
      if (const auto number = parse_int(code->substr(0, code->find(' ')), 1000, 1'000'000))
        facts_.nccl_code = static_cast<int>(*number);
    const auto words = split_blanks(line);
    if (words.size() > 2 && words[0] == "#" && words[1] == "Rank" &&
        parse_int(words[2], 0, 1 << 20)) {
      ++facts_.listed_ranks;
      if (auto listed = read_listed_rank(words); listed && facts_.listed.size() < most_rows)
        facts_.listed.push_back(std::move(*listed));
    }
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "nThread" || words[i] == "nThreads") facts_.threads = count(words[i + 1]);
      if (words[i] == "nGpus") facts_.gpus = count(words[i + 1]);
      if (words[i] == "minBytes") facts_.min_bytes = whole(words[i + 1]);
      if (words[i] == "maxBytes") facts_.max_bytes = whole(words[i + 1]);
      if (words[i] == "-g" || words[i].starts_with("--nproc_per_node="))
        command_gpus_ = count(words[i] == "-g" ? words[i + 1] : words[i].substr(17));
    }
  }

  static std::optional<int> count(std::string_view word) {
    const auto number = parse_int(word, 1, 1 << 20);
    return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
  }

  void note_footer(std::string_view line, int number) {
    const auto footer = [&](std::string_view name) -> std::optional<std::string> {
      const auto at = line.find(name);
      const auto colon = at == std::string_view::npos ? at : line.find(':', at);
      if (colon == std::string_view::npos) return std::nullopt;
      last_line_ = number;
      footer_ = true;
      return std::string(trim(line.substr(colon + 1)));
    };
    if (const auto bounds = footer("Out of bounds values"); bounds && !facts_.out_of_bounds)
      facts_.out_of_bounds = bounds;
    if (const auto average = footer("Avg bus bandwidth"); average && !facts_.average_busbw) {
      const auto words = split_blanks(*average);
      if (!words.empty()) facts_.average_busbw = parse_number(words[0]);
    }
  }

  /// What the text does not say. Size over count times the type's bytes is the number of blocks;
  /// busbw over algbw is 2 (n - 1) / n of an all-reduce and (n - 1) / n where there is a block for
  /// each rank.
  void infer() {
    if (facts_.listed_ranks > 0) facts_.ranks = facts_.listed_ranks;
    const int launched = facts_.gpus.value_or(1) * facts_.threads.value_or(1);
    if (launched > facts_.ranks.value_or(1)) facts_.ranks = launched;
    if (!facts_.ranks && command_gpus_) facts_.ranks = command_gpus_;
    const auto& row = *std::ranges::max_element(facts_.rows, {}, [](const CollectiveRow& each) {
      return each.out_of_place ? each.out_of_place->algbw : 0;
    });
    if (!facts_.collective) facts_.collective = implied_collective();
    // Equal rates everywhere are two ranks: three would print 0.03 beside 0.02.
    const auto equal_rates = [](const CollectiveRow& each) {
      return !each.out_of_place || each.out_of_place->algbw == each.out_of_place->busbw;
    };
    if (!facts_.ranks && facts_.collective == "all_reduce" && row.out_of_place &&
        row.out_of_place->algbw >= 0.02 && std::ranges::all_of(facts_.rows, equal_rates))
      facts_.ranks = 2;
    // A rounded ratio tells few ranks, and none where the rates are small.
    if (facts_.ranks || !row.out_of_place || row.out_of_place->algbw < 1) return;
    double ratio = row.out_of_place->busbw / row.out_of_place->algbw;
    if (facts_.collective == "all_reduce") ratio /= 2;
    if (ratio <= 0 || ratio > 0.98) return;
    const double ranks = 1 / (1 - ratio);
    if (std::abs(ranks - std::round(ranks)) < 0.15)
      facts_.ranks = static_cast<int>(std::lround(ranks));
  }

  [[nodiscard]] std::optional<std::string> implied_collective() const {
    const auto& row = facts_.rows.back();
    const bool sums = !row.operation.empty() && row.operation != "none";
    if (row.root.value_or(-1) >= 0) return sums ? "reduce" : "broadcast";
    const auto bytes = bytes_of(row.type);
    if (!sums || !bytes || !row.count || *row.count == 0) return std::nullopt;
    return row.size == *row.count * *bytes ? "all_reduce" : "reduce_scatter";
  }

  static std::optional<std::uint64_t> bytes_of(std::string_view type) {
    if (type == "float" || type == "int32" || type == "uint32") return 4;
    if (type == "half" || type == "bfloat16") return 2;
    if (type == "double" || type == "int64" || type == "uint64") return 8;
    return type == "int8" || type == "uint8" || type.starts_with("fp8") || type.starts_with("f8")
               ? std::optional<std::uint64_t>(1)
               : std::nullopt;
  }

  /// The last size is short of the maximum that the head announces, or the last row is cut.
  void find_cut() {
    const auto last = facts_.rows.back().size;
    facts_.truncated = facts_.has_incomplete_rows ||
                       (!footer_ && facts_.max_bytes && last < *facts_.max_bytes / 2) ||
                       (!footer_ && facts_.listed_ranks > 0);
    if (facts_.truncated && !facts_.has_incomplete_rows)
      findings_.push_back(
          {Severity::warning, last_row_line_, "the table is cut: its end is missing"});
  }

  CollectiveRows facts_;
  std::vector<Finding> findings_;
  std::optional<int> command_gpus_;
  bool footer_ = false;
  int first_line_ = 0, last_line_ = 0, last_row_line_ = 0;
};

/// Any table of numbers has rows of four fields; ours has these words above or below it.
bool mentions_bandwidth(const Text& text) {
  int words = 0;
  for (const auto& line : text.lines)
    if (line.text.find("busbw") != std::string::npos ||
        line.text.find("us bandwidth") != std::string::npos ||
        line.text.find("float     sum") != std::string::npos ||
        line.text.find("_perf") != std::string::npos)
      ++words;
  return words > 0;
}

/// Rows of 11 fields and more name an element type and are known without a head.
bool has_typed_rows(const Text& text) {
  return std::ranges::any_of(text.lines, [](const TextLine& line) {
    const auto words = split_blanks(line.text);
    return words.size() >= 11 && words.size() <= 13 && whole(words[0]) && whole(words[1]) &&
           read_row(words).has_value();
  });
}

}  // namespace

std::vector<Reading> read_collective_rows(const Text& text) {
  return mentions_bandwidth(text) || has_typed_rows(text) ? RowsReader().read(text)
                                                          : std::vector<Reading>();
}

}  // namespace ringside
