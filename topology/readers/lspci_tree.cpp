// SPDX-License-Identifier: MIT
/// `lspci -t`: the buses and bridges of the drawn tree.
#include <algorithm>
#include <cctype>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/lspci.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

bool is_hex(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

/// "0000:20", or "20" where there is one domain.
bool is_root(std::string_view text) {
  const auto colon = text.find(':');
  return colon != std::string_view::npos && is_hex(text.substr(0, colon)) &&
         is_hex(text.substr(colon + 1)) && text.size() - colon == 3;
}

/// "02-09" or "0a".
bool is_bus_range(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = text.substr(0, dash);
  return first.size() == 2 && is_hex(first) &&
         (dash == std::string_view::npos ||
          (text.substr(dash + 1).size() == 2 && is_hex(text.substr(dash + 1))));
}

/// "01.2" in front of "-[".
std::string function_before(std::string_view text) {
  if (text.size() < 4) return "";
  const auto name = text.substr(text.size() - 4);
  const bool usual = is_hex(name.substr(0, 2)) && name[2] == '.' && is_hex(name.substr(3));
  return usual ? std::string(name) : "";
}

void read_line(std::string_view line, LspciTree& tree) {
  for (auto at = line.find('['); at != std::string_view::npos; at = line.find('[', at + 1)) {
    const auto end = line.find(']', at);
    if (end == std::string_view::npos || at == 0 || line[at - 1] != '-') continue;
    const auto inside = line.substr(at + 1, end - at - 1);
    const auto bridge = function_before(line.substr(0, at - 1));
    if (bridge.empty() && is_root(inside))
      tree.roots.emplace_back(inside);
    else if (!bridge.empty() && is_bus_range(inside))
      tree.bridges.push_back({.address = bridge, .buses = std::string(inside)});
  }
}

/// Lines of the tree are drawn with these, and name functions.
bool looks_like_tree(std::string_view line) {
  return line.find("-[") != std::string_view::npos || line.find("+-") != std::string_view::npos ||
         line.find("\\-") != std::string_view::npos;
}

bool names_gpu(std::string_view line) {
  return line.find("NVIDIA") != std::string_view::npos ||
         line.find("Radeon") != std::string_view::npos ||
         line.find("Instinct") != std::string_view::npos;
}

/// The last branch of every level is drawn with a backslash, so a tree that ends with a plus was
/// cut; unless it ends with the last function of AMD's data fabric, the last device of its bus.
bool ends_early(const std::vector<std::string_view>& lines) {
  const auto last = trim(lines.back());
  return last.find("\\-") == std::string_view::npos && last.find("---") == std::string_view::npos &&
         !last.ends_with("-18.7");
}

}  // namespace

std::vector<Reading> read_lspci_tree(const Text& text) {
  LspciTree tree;
  std::vector<std::string_view> lines;
  int first_line = 0, last_line = 0;
  for (const auto& line : text.lines) {
    if (!looks_like_tree(line.text)) continue;
    const auto roots = tree.roots.size();
    read_line(line.text, tree);
    if (tree.roots.empty()) continue;
    if (roots == 0) first_line = line.number, lines.clear();
    lines.push_back(line.text);
    last_line = line.number;
    tree.gpu_lines += names_gpu(line.text);
  }
  if (tree.roots.empty()) return {};
  tree.truncated = ends_early(lines);
  std::vector<Finding> findings;
  if (tree.truncated) findings.push_back({Severity::warning, last_line, "the tree is cut here"});
  std::vector<Reading> readings;
  readings.push_back(Reading{.reader = "lspci -t",
                             .source = {},
                             .first_line = first_line,
                             .last_line = last_line,
                             .facts = std::move(tree),
                             .findings = std::move(findings)});
  return readings;
}

}  // namespace ringside
