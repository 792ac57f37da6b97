// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/nccl_graph.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr std::string_view info = "NCCL INFO ";
constexpr std::size_t most_entries = 20'000, most_trees = 4096;

/// "GPU/0-47000 (3)".
bool read_node(std::string_view text, NcclGraph::Entry& entry) {
  static constexpr std::array<std::string_view, 7> kinds = {"CPU", "PCI", "GPU", "NIC",
                                                            "NET", "NVS", "DEV"};
  const auto slash = text.find('/');
  if (slash == std::string_view::npos ||
      std::ranges::find(kinds, text.substr(0, slash)) == kinds.end())
    return false;
  entry.kind = text.substr(0, slash);
  const auto end = text.find(' ', slash);
  entry.id = text.substr(slash + 1, end == std::string_view::npos ? end : end - slash - 1);
  const bool usual = !entry.id.empty() && std::ranges::all_of(entry.id, [](char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == '-';
  });
  if (!usual || end == std::string_view::npos) return usual;
  const auto rest = trim(text.substr(end));
  if (!rest.starts_with('(') || !rest.ends_with(')')) return false;
  entry.beside = rest.substr(1, rest.size() - 2);
  return true;
}

/// "PCI[24.0] - GPU/47000 (0)".
bool read_link(std::string_view text, NcclGraph::Entry& entry) {
  const auto open = text.find('['), close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return false;
  const auto bandwidth = parse_number(trim(text.substr(open + 1, close - open - 1)));
  const auto rest = trim(text.substr(close + 1));
  if (!bandwidth || *bandwidth < 0 || !rest.starts_with('-')) return false;
  entry.link = text.substr(0, open);
  entry.bandwidth = *bandwidth;
  return read_node(trim(rest.substr(1)), entry);
}

/// A tree that is being printed.
struct Open {
  NcclGraph graph;
  std::vector<std::size_t> columns;  ///< of each entry's plus sign, from 1; 0 of a processor
  int first_line = 0, last_line = 0;
  bool closed = false;
};

class GraphReader {
 public:
  std::optional<Reading> read(const Text& text) {
    for (const auto& line : text.lines) look_at(line);
    Open* best = nullptr;
    for (auto& open : order_) {
      auto& tree = trees_.at(open);
      if (tree.graph.entries.empty()) continue;
      if (best == nullptr || (tree.closed && !best->closed)) best = &tree;
    }
    if (best == nullptr) return std::nullopt;
    best->graph.truncated = !best->closed;
    std::vector<Finding> findings;
    if (best->graph.truncated)
      findings.push_back({Severity::warning, best->last_line, "the tree is cut here"});
    return Reading{.reader = "NCCL's graph",
                   .source = {},
                   .first_line = best->first_line,
                   .last_line = best->last_line,
                   .facts = std::move(best->graph),
                   .findings = std::move(findings)};
  }

 private:
  void look_at(const TextLine& line) {
    const auto at = line.text.find(info);
    if (at == std::string::npos) return;
    const std::string rank = line.text.substr(0, at);
    const auto text = std::string_view(line.text).substr(at + info.size());
    if (text.starts_with("=== System")) {
      if (trees_.size() >= most_trees || trees_.contains(rank)) return;
      trees_[rank].first_line = trees_[rank].last_line = line.number;
      order_.push_back(rank);
      return;
    }
    const auto found = trees_.find(rank);
    if (found == trees_.end() || found->second.closed) return;
    Open& tree = found->second;
    if (text.starts_with("=====")) {
      tree.closed = true;
      tree.last_line = line.number;
      return;
    }
    if (tree.graph.entries.size() < most_entries) add(text, line.number, tree);
  }

  static void add(std::string_view text, int number, Open& tree) {
    NcclGraph::Entry entry;
    entry.line = number;
    const auto plus = text.find_first_not_of(' ');
    if (plus == std::string_view::npos) return;
    std::size_t column = 0;
    if (text[plus] == '+') {
      if (!read_link(trim(text.substr(plus + 1)), entry)) return;
      column = plus + 1;
      // The last line above that begins further left.
      for (std::size_t i = tree.columns.size(); i-- > 0;)
        if (tree.columns[i] < column) {
          entry.parent = static_cast<int>(i);
          break;
        }
      if (entry.parent < 0) return;
    } else if (!read_node(trim(text), entry) || entry.kind != "CPU") {
      return;
    }
    tree.columns.push_back(column);
    tree.graph.entries.push_back(std::move(entry));
    tree.last_line = number;
  }

  std::map<std::string, Open> trees_;  // by what stands in front of "NCCL INFO"
  std::vector<std::string> order_;
};

}  // namespace

std::vector<Reading> read_nccl_graph(const Text& text) {
  std::vector<Reading> readings;
  if (auto reading = GraphReader().read(text)) readings.push_back(std::move(*reading));
  return readings;
}

}  // namespace ringside
