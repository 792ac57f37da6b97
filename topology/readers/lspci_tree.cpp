// SPDX-License-Identifier: MIT
/// `lspci -t`: the buses and bridges of the drawn tree.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

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

constexpr std::size_t most_functions = 100'000;

/// "01.2": device and function.
bool is_function(std::string_view text) {
  return text.size() == 4 && is_hex(text.substr(0, 2)) && text[2] == '.' && is_hex(text.substr(3));
}

/// What hangs on one bus.
struct Bus {
  std::string root;  ///< "0000:00"; "": the place where roots are drawn
  std::uint32_t domain = 0;
  std::uint8_t number = 0;
  std::optional<PciAddress> bridge;
};

std::uint32_t hex(std::string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

/// Follows the drawing. A branch is a plus or backslash; those below each other are of one bus.
class TreeDrawing {
 public:
  explicit TreeDrawing(LspciTree& tree) : tree_(tree) {}

  void read(std::string_view line) {
    line_ = line;
    at_ = line.find_first_not_of(" |");
    if (at_ == std::string_view::npos) return;
    if (line[at_] == '-') return read_chain(Bus{});
    if (line[at_] != '+' && line[at_] != '\\') return;
    const auto bus = open_.find(at_);
    if (bus == open_.end()) {
      tree_.columns_lost |= !open_.empty();
      return;
    }
    const Bus here = bus->second;
    open_.erase(std::next(bus), open_.end());  // what lay further right has ended
    ++at_;
    read_chain(here);
  }

 private:
  /// "-00.0-[03-09]--+-01.0": from a dash on, what hangs on a bus, and on the bus below that.
  void read_chain(Bus bus) {
    while (true) {
      at_ = line_.find_first_not_of('-', at_);
      if (at_ == std::string_view::npos) return;
      if (line_[at_] == '+' || line_[at_] == '\\') {
        open_[at_] = bus;
        ++at_;
        continue;
      }
      if (line_[at_] == '[') {
        if (!read_root(bus)) return;
        continue;
      }
      if (!is_function(line_.substr(at_, 4)) || bus.root.empty()) return;
      if (!read_function(bus)) return;
    }
  }

  bool read_root(Bus& bus) {
    const auto inside = bracket();
    if (!is_root(inside)) return false;
    tree_.roots.emplace_back(inside);
    const auto colon = inside.find(':');
    bus = Bus{.root = std::string(inside),
              .domain = hex(inside.substr(0, colon)),
              .number = static_cast<std::uint8_t>(hex(inside.substr(colon + 1))),
              .bridge = std::nullopt};
    return true;
  }

  /// Whether more follows in the line: the bus behind a bridge.
  bool read_function(Bus& bus) {
    const auto name = line_.substr(at_, 4);
    LspciTree::Function function;
    function.address = {.domain = bus.domain,
                        .bus = bus.number,
                        .device = static_cast<std::uint8_t>(hex(name.substr(0, 2))),
                        .function = static_cast<std::uint8_t>(hex(name.substr(3)))};
    function.parent = bus.bridge;
    function.root = bus.root;
    at_ += 4;
    const auto rest = line_.substr(at_);
    if (rest.starts_with("-[")) {
      ++at_;
      const auto buses = bracket();
      if (is_bus_range(buses)) {
        function.is_bridge = true;
        tree_.bridges.push_back({.address = std::string(name), .buses = std::string(buses)});
        bus.number = static_cast<std::uint8_t>(hex(buses.substr(0, 2)));
        bus.bridge = function.address;
      }
    } else {
      function.description = trim(rest);
    }
    const bool more = function.is_bridge;
    if (tree_.functions.size() < most_functions) tree_.functions.push_back(std::move(function));
    return more;
  }

  /// What stands in the bracket here; the place behind it is next.
  std::string_view bracket() {
    const auto end = line_.find(']', at_);
    if (end == std::string_view::npos) return {};
    const auto inside = line_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }

  LspciTree& tree_;
  std::string_view line_;
  std::size_t at_ = 0;
  std::map<std::size_t, Bus> open_;  // by the column of their branches
};

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
  TreeDrawing drawing(tree);
  std::vector<std::string_view> lines;
  int first_line = 0, last_line = 0;
  for (const auto& line : text.lines) {
    if (!looks_like_tree(line.text)) continue;
    const auto roots = tree.roots.size();
    drawing.read(line.text);
    if (tree.roots.empty()) continue;
    if (roots == 0) first_line = line.number, lines.clear();
    lines.push_back(line.text);
    last_line = line.number;
    tree.gpu_lines += names_gpu(line.text);
  }
  if (tree.roots.empty()) return {};
  tree.truncated = ends_early(lines);
  std::vector<Finding> findings;
  if (tree.columns_lost)
    findings.push_back({Severity::warning, first_line,
                        "the columns of the tree are lost: it does not tell what hangs where"});
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
