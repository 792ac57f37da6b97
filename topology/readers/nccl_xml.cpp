// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/nccl_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/readers/reading.hpp"
#include "ringside/topology/readers/xml_guard.hpp"

namespace ringside {
namespace {

// Real files are 8 deep and have some hundred elements (NCCL stops at 256, or 65,536 when ranks'
// files are put together); a `cpu` is linked to all others.
constexpr XmlLimits limits = {.depth = 32, .elements = 20'000};
constexpr std::size_t most_cpus = 512;

/// The part of a text from "<system" to "</system>", or to the end, with its lines.
struct Section {
  std::string text;
  std::vector<std::size_t> line_starts;
  std::vector<int> line_numbers;
  bool closed = false;

  [[nodiscard]] int line_at(std::ptrdiff_t offset) const {
    const auto next = std::ranges::upper_bound(
        line_starts, static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
    return line_numbers[static_cast<std::size_t>(next - line_starts.begin()) - 1];
  }
};

std::size_t find_root(std::string_view line) {
  const auto at = line.find("<system");
  if (at == std::string_view::npos || at + 7 >= line.size()) return at;
  return line[at + 7] == ' ' || line[at + 7] == '>' || line[at + 7] == '\t' || line[at + 7] == '/'
             ? at
             : std::string_view::npos;
}

std::vector<Section> find_sections(const Text& text) {
  std::vector<Section> sections;
  bool open = false;
  for (const auto& line : text.lines) {
    std::string_view rest = line.text;
    while (true) {
      if (!open) {
        const auto start = find_root(rest);
        if (start == std::string_view::npos) break;
        sections.emplace_back();
        rest.remove_prefix(start);
        open = true;
      }
      Section& section = sections.back();
      const auto end = rest.find("</system>");
      const auto taken = end == std::string_view::npos ? rest.size() : end + 9;
      section.line_starts.push_back(section.text.size());
      section.line_numbers.push_back(line.number);
      section.text += rest.substr(0, taken);
      section.text += '\n';
      if (end == std::string_view::npos) break;
      section.closed = true;
      open = false;
      rest.remove_prefix(taken);
    }
  }
  return sections;
}

void check_cost(const Section& section) {
  const auto fail = [&](std::size_t offset, std::string_view what) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("line {}: {}", section.line_at(static_cast<std::ptrdiff_t>(offset)), what));
  };
  const auto objection = object_to_xml(section.text, limits);
  if (!objection.reason.empty()) fail(objection.offset, objection.reason);
  std::size_t cpus = 0;
  for (auto at = section.text.find("<cpu"); at != std::string::npos;
       at = section.text.find("<cpu", at + 1))
    if (++cpus > most_cpus) fail(at, "more NUMA nodes than any machine has");
}

XmlElement copy(const pugi::xml_node& node, const Section& section) {
  XmlElement element{.tag = node.name(),
                     .line = section.line_at(node.offset_debug()),
                     .attributes = {},
                     .children = {}};
  for (const auto& attribute : node.attributes())
    element.attributes.emplace_back(attribute.name(), attribute.value());
  for (const auto& child : node.children())
    if (child.type() == pugi::node_element) element.children.push_back(copy(child, section));
  return element;
}

void check_what_nccl_refuses(const XmlElement& element, std::vector<Finding>& findings) {
  const auto require = [&](std::string_view parent, std::string_view tag) {
    for (const auto& child : element.children)
      if (child.tag == tag && element.tag != parent)
        findings.push_back({Severity::warning, child.line,
                            fmt::format("<{}> belongs under <{}>, not under <{}>: NCCL ignores it",
                                        tag, parent, element.tag)});
  };
  require("system", "cpu");
  require("nic", "net");
  for (const auto& child : element.children) {
    if (child.tag == "gpu" && element.tag != "pci")
      findings.push_back(
          {Severity::warning, child.line,
           fmt::format("<gpu> belongs under <pci>, not under <{}>: NCCL ignores it", element.tag)});
    check_what_nccl_refuses(child, findings);
  }
}

std::optional<Reading> read_section(const Section& section) {
  check_cost(section);
  pugi::xml_document document;
  const auto parsed =
      document.load_buffer(section.text.data(), section.text.size(),
                           pugi::parse_default & ~pugi::parse_doctype, pugi::encoding_utf8);
  const auto root = document.child("system");
  if (!root) return std::nullopt;
  NcclXml xml{.system = copy(root, section),
              .well_formed = static_cast<bool>(parsed),
              .truncated = !section.closed && !parsed};
  std::vector<Finding> findings;
  if (!parsed)
    findings.push_back(
        {Severity::warning, section.line_at(parsed.offset),
         xml.truncated ? "the file is cut: what stands before its end was read"
                       : fmt::format("the XML is broken here ({}): what stands before was read",
                                     to_lower(parsed.description()))});
  check_what_nccl_refuses(xml.system, findings);
  return Reading{.reader = "NCCL topology XML",
                 .source = {},
                 .first_line = section.line_numbers.front(),
                 .last_line = section.line_numbers.back(),
                 .facts = std::move(xml),
                 .findings = std::move(findings)};
}

bool has_class(std::string_view pci_class, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(
      prefixes, [&](std::string_view prefix) { return pci_class.starts_with(prefix); });
}

}  // namespace

const std::string* XmlElement::attribute(std::string_view name) const {
  for (const auto& [key, value] : attributes)
    if (key == name) return &value;
  return nullptr;
}

bool is_gpu_class(std::string_view pci_class) { return has_class(pci_class, {"0x03", "0x12"}); }
bool is_nic_class(std::string_view pci_class) { return has_class(pci_class, {"0x02"}); }
bool is_switch_class(std::string_view pci_class) {
  return has_class(pci_class, {"0x060400", "0x0604", "0x080100"});
}

std::vector<Reading> read_nccl_xml(const Text& text) {
  std::vector<Reading> readings;
  for (const auto& section : find_sections(text))
    if (auto reading = read_section(section)) readings.push_back(std::move(*reading));
  return readings;
}

}  // namespace ringside
