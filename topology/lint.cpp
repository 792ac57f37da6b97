// SPDX-License-Identifier: MIT
#include "ringside/topology/lint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/topology/build/from_xml.hpp"
#include "ringside/topology/describe.hpp"
#include "ringside/topology/path.hpp"

namespace ringside {
namespace {

constexpr std::size_t nccl_most_elements = 256, nccl_most_attributes = 16, nccl_most_children = 640;

/// Which elements stand under which; anything else is ignored with all below it.
const std::map<std::string, std::set<std::string>, std::less<>>& nesting() {
  static const std::map<std::string, std::set<std::string>, std::less<>> allowed = {
      {"system", {"cpu"}},
      {"cpu", {"pci", "nic"}},
      {"pci", {"pci", "gpu", "nic", "pcilink"}},
      {"gpu", {"nvlink", "c2c", "xgmi"}},
      {"nic", {"net"}}};
  return allowed;
}

class XmlLinter {
 public:
  std::vector<Finding> lint(const XmlElement& system) {
    check_version(system);
    visit(system, nullptr);
    check_links();
    check_ranks();
    if (elements_ > nccl_most_elements)
      warn(system,
           fmt::format("{} elements; NCCL takes at most {}", elements_, nccl_most_elements));
    return std::move(findings_);
  }

 private:
  void warn(const XmlElement& element, std::string text) {
    findings_.push_back({Severity::warning, element.line, std::move(text)});
  }
  void note(const XmlElement& element, std::string text) {
    findings_.push_back({Severity::note, element.line, std::move(text)});
  }

  void check_version(const XmlElement& system) {
    const auto* version = system.attribute("version");
    if (version == nullptr)
      warn(system, "<system> needs a version: 1, or 2 for RCCL");
    else if (*version != "1" && *version != "2")
      warn(system,
           fmt::format("version {} is known to neither NCCL (1) nor RCCL (2)", quote(*version)));
  }

  void visit(const XmlElement& element, const std::string* bus) {
    ++elements_;
    check_shape(element);
    if (element.tag == "cpu") check_cpu(element);
    if (element.tag == "pci") {
      check_pci(element);
      bus = element.attribute("busid");
    }
    if (element.tag == "gpu") check_gpu(element, bus);
    if (element.tag == "net" && element.attribute("dev") == nullptr)
      warn(element, "<net> without dev is not used");
    for (const auto& child : element.children) {
      const auto allowed = nesting().find(element.tag);
      if (allowed == nesting().end() || !allowed->second.contains(child.tag))
        warn(child, fmt::format("<{}> has no place under <{}>: NCCL ignores it and all below it",
                                child.tag, element.tag));
      visit(child, bus);
    }
  }

  void check_shape(const XmlElement& element) {
    if (element.attributes.size() > nccl_most_attributes)
      warn(element, fmt::format("{} attributes; NCCL drops those after the {}th",
                                element.attributes.size(), nccl_most_attributes));
    if (element.children.size() > nccl_most_children)
      warn(element, fmt::format("{} children; NCCL takes at most {}", element.children.size(),
                                nccl_most_children));
    std::set<std::string_view> names;
    for (const auto& [name, value] : element.attributes) {
      if (!names.insert(name).second)
        warn(element, fmt::format("the attribute {} is there twice", name));
      if (name.size() > 254 || value.size() > 254)
        warn(element, "names and values have at most 254 characters");
    }
  }

  void check_cpu(const XmlElement& cpu) {
    const auto* numa = cpu.attribute("numaid");
    if (numa == nullptr) return warn(cpu, "<cpu> needs a numaid");
    if (!numas_.insert(*numa).second && cpu.attribute("host_hash") == nullptr)
      warn(cpu, fmt::format("NUMA node {} is there twice", *numa));
    const auto* arch = cpu.attribute("arch");
    if (arch == nullptr)
      return note(cpu, "<cpu> without arch: complete only after NCCL has looked at the machine");
    const auto* vendor = cpu.attribute("vendor");
    if (*arch == "x86_64" && vendor == nullptr) warn(cpu, "an x86_64 <cpu> needs a vendor");
    if (vendor != nullptr && *vendor == "GenuineIntel" && cpu.attribute("modelid") == nullptr)
      warn(cpu,
           "an Intel <cpu> needs familyid and modelid: they decide what NCCL thinks of the socket "
           "link");
  }

  void check_pci(const XmlElement& pci) {
    const auto* bus = pci.attribute("busid");
    if (bus == nullptr) return warn(pci, "<pci> needs a busid");
    if (!parse_pci_address(*bus))
      warn(pci, fmt::format("{} is no bus id (dddd:bb:dd.f)", quote(*bus)));
    if (*bus != to_lower(*bus)) warn(pci, fmt::format("{} must be in small letters", quote(*bus)));
    if (const auto [at, added] = buses_.emplace(*bus, &pci); !added)
      warn(pci, fmt::format("the bus id {} is that of line {} too", *bus, at->second->line));
    const auto* pci_class = pci.attribute("class");
    if (pci_class == nullptr) note(pci, "<pci> without class: what it is, NCCL must look up");
    check_pci_link(pci);
    const bool holds_gpu =
        std::ranges::find(pci.children, "gpu", &XmlElement::tag) != pci.children.end();
    if (holds_gpu && pci_class != nullptr && !is_gpu_class(*pci_class))
      warn(pci, fmt::format("it holds a <gpu>, but its class is {}", *pci_class));
    check_order(pci);
  }

  void check_pci_link(const XmlElement& pci) {
    const auto* speed = pci.attribute("link_speed");
    if (speed != nullptr && !pcie_generation(*speed))
      warn(pci, fmt::format("{}: NCCL takes 8 GT/s",
                            trim(*speed).empty() ? "the link's speed is not told"
                                                 : quote(*speed) + " is no speed that NCCL knows"));
    const auto* width = pci.attribute("link_width");
    if (width != nullptr && parse_int(*width, 1, 64) == std::nullopt)
      warn(pci, fmt::format("a link width of {}: NCCL takes 16", quote(*width)));
  }

  void check_order(const XmlElement& element) {
    const std::string* last = nullptr;
    for (const auto& child : element.children) {
      const auto* bus = child.attribute("busid");
      if (child.tag != "pci" || bus == nullptr) continue;
      if (last != nullptr && *bus < *last)
        note(child, "children are usually in the order of their bus ids");
      last = bus;
    }
  }

  void check_gpu(const XmlElement& gpu, const std::string* bus) {
    for (const char* needed : {"dev", "sm"})
      if (gpu.attribute(needed) == nullptr)
        note(gpu, fmt::format("<gpu> without {}: NCCL must look it up", needed));
    if (const auto* rank = gpu.attribute("rank")) ranks_.emplace_back(*rank, &gpu);
    for (const auto& link : gpu.children) {
      const auto* target = link.attribute("target");
      if (link.tag != "nvlink" && link.tag != "xgmi") continue;
      if (target == nullptr || link.attribute("count") == nullptr) {
        warn(link, fmt::format("<{}> needs a target and a count", link.tag));
        continue;
      }
      if (bus != nullptr) links_.push_back({*bus, *target, *link.attribute("count"), &link});
    }
  }

  /// What one end says the other must say too.
  void check_links() {
    std::map<std::pair<std::string, std::string>, std::string> counts;
    for (const auto& link : links_) counts[{link.from, link.to}] = link.count;
    for (const auto& link : links_) {
      const auto* target_class = link.element->attribute("tclass");
      const bool to_gpu = target_class == nullptr || is_gpu_class(*target_class);
      const auto known = buses_.find(link.to);
      if (link.from == link.to) {
        warn(*link.element, "a GPU that is linked to itself");
        continue;
      }
      if (known == buses_.end()) {
        if (to_gpu) warn(*link.element, fmt::format("no device has the bus id {}", link.to));
        continue;
      }
      if (const auto* stated = known->second->attribute("class");
          stated != nullptr && target_class != nullptr && *stated != *target_class)
        warn(*link.element,
             fmt::format("tclass is {}, but {} has the class {}", *target_class, link.to, *stated));
      if (!to_gpu) continue;
      const auto back = counts.find({link.to, link.from});
      if (back == counts.end())
        warn(*link.element, fmt::format("{} does not know of this link", link.to));
      else if (back->second != link.count && link.from < link.to)
        warn(*link.element,
             fmt::format("{} links here, {} at the other end", link.count, back->second));
    }
  }

  void check_ranks() {
    std::set<std::int64_t> seen;
    for (const auto& [text, element] : ranks_) {
      const auto rank = parse_int(text);
      if (!rank || *rank < 0 || !seen.insert(*rank).second)
        warn(*element, fmt::format("rank {} is no rank of its own", quote(text)));
    }
    if (!seen.empty() && *seen.rbegin() != static_cast<std::int64_t>(seen.size()) - 1)
      findings_.push_back({Severity::note, 0, "ranks are not dense"});
  }

  struct FabricLink {
    std::string from, to, count;
    const XmlElement* element;
  };

  std::vector<Finding> findings_;
  std::size_t elements_ = 0;
  std::set<std::string> numas_;
  std::map<std::string, const XmlElement*> buses_;
  std::vector<FabricLink> links_;
  std::vector<std::pair<std::string, const XmlElement*>> ranks_;
};

/// Pairs of GPUs with NVLink, and their links.
std::map<std::pair<std::size_t, std::size_t>, int> nvlinks_of(const LinkMatrix& matrix) {
  std::map<std::pair<std::size_t, std::size_t>, int> links;
  for (std::size_t i = 0; i < matrix.gpus; ++i)
    for (std::size_t j = i + 1; j < matrix.gpus; ++j)
      if (const auto& cell = matrix.cell(i, j); cell && cell->value == LinkClass::nvlink)
        links[{i, j}] = cell->count;
  return links;
}

/// A bridge of RTX cards has 4 links; one that shows 3 has a bad contact.
void lint_bridges(const LinkMatrix& matrix, std::vector<Finding>& findings) {
  const auto links = nvlinks_of(matrix);
  for (const auto& link : links) {
    const auto [first, second] = link.first;
    const auto shares = [&link](const auto& other) {
      const auto [a, b] = link.first;
      const auto [c, d] = other.first;
      return other.first != link.first && (c == a || c == b || d == a || d == b);
    };
    const bool bridge = std::ranges::none_of(links, shares);
    if (bridge && link.second == 3)
      findings.push_back(
          {Severity::warning, 0,
           fmt::format(
               "{} to {}: 3 NVLinks; bridges of two cards have 2, 4 or more, so one link did not "
               "come up (reseat the bridge)",
               matrix.names[first], matrix.names[second])});
  }
}

void lint_affinities(const LinkMatrix& matrix, std::vector<Finding>& findings) {
  const auto single = [](const AffinityColumn& column, const std::string& name) -> std::string {
    const auto cell = column.find(name);
    return cell != column.end() && cell->second && parse_int(*cell->second, 0, 1 << 20)
               ? *cell->second
               : "";
  };
  for (std::size_t i = 0; i < matrix.gpus; ++i)
    for (std::size_t j = i + 1; j < matrix.gpus; ++j) {
      const auto& cell = matrix.cell(i, j);
      const auto a = single(matrix.numa_affinity, matrix.names[i]);
      const auto b = single(matrix.numa_affinity, matrix.names[j]);
      if (!cell || a.empty() || b.empty()) continue;
      if (cell->value == LinkClass::sys && a == b)
        findings.push_back({Severity::warning, 0,
                            fmt::format("{} and {} say NUMA node {}, but are SYS apart",
                                        matrix.names[i], matrix.names[j], a)});
      if (cell->value >= LinkClass::pix && cell->value <= LinkClass::node && a != b)
        findings.push_back({Severity::warning, 0,
                            fmt::format("{} and {} are {}, but say NUMA nodes {} and {}",
                                        matrix.names[i], matrix.names[j], to_string(*cell), a, b)});
    }
}

}  // namespace

std::vector<Finding> lint_nccl_xml(const NcclXml& xml) { return XmlLinter().lint(xml.system); }

std::vector<Finding> lint_nccl_text(const Text& text) {
  std::vector<Finding> findings;
  const auto warn = [&](int line, std::string what) {
    findings.push_back({Severity::warning, line, std::move(what)});
  };
  bool in_comment = false;
  for (const auto& line : text.lines) {
    const std::string_view content = trim(line.text);
    if (content.starts_with("<?xml")) warn(line.number, "NCCL's parser does not know <?xml ...?>");
    if (content.starts_with("<!DOCTYPE"))
      warn(line.number, "NCCL's parser does not know <!DOCTYPE>");
    if (content.find("<!--") != std::string_view::npos) in_comment = true;
    const bool commented = in_comment;
    if (content.find("-->") != std::string_view::npos) in_comment = false;
    if (commented) continue;
    if (line.text.find('\t') != std::string::npos)
      warn(line.number, "NCCL's parser knows no tabs between tokens");
    if (content.find("\"  ") != std::string_view::npos ||
        content.find("\" >") != std::string_view::npos ||
        content.find("\" />") != std::string_view::npos)
      warn(line.number,
           "exactly one blank stands between attributes, and none before > for NCCL's parser");
    if (content.starts_with('<') && content.find('>') == std::string_view::npos)
      warn(line.number, "all attributes of an element stand on one line for NCCL's parser");
  }
  return findings;
}

std::vector<Finding> lint_link_matrix(const LinkMatrix& matrix) {
  std::vector<Finding> findings;
  lint_bridges(matrix, findings);
  lint_affinities(matrix, findings);
  return findings;
}

std::vector<Finding> lint_topology(const Topology& topology) {
  std::vector<Finding> findings;
  for (const NodeId gpu : topology.gpus()) {
    const auto up = topology.link_up(gpu);
    if (!up) continue;
    const Link& link = topology.link(*up);
    if (link.width && link.most_width && *link.width < *link.most_width)
      findings.push_back({Severity::warning, 0,
                          fmt::format("{} uses {} of {} PCIe lanes", topology.node(gpu).name,
                                      *link.width, *link.most_width)});
  }
  for (const auto& node : topology.nodes())
    if (const auto acs = node.details.find("acs_redirect");
        acs != node.details.end() && acs->second == "on")
      findings.push_back(
          {Severity::warning, 0,
           fmt::format("{} sends peer traffic up to the processor (ACS)", node.name)});
  int far_apart = 0;
  for (const auto& access : topology.peer_access) {
    if (!is_kept_apart(access) || access.from > access.to) continue;
    const auto pair = link_class(topology, access.from, access.to);
    far_apart += pair.value > LinkClass::pxb;
    if (pair.value > LinkClass::pxb) continue;
    findings.push_back(
        {Severity::warning, 0,
         fmt::format("{} and {} are {}, but the driver lets neither reach the other ({})",
                     topology.node(access.from).name, topology.node(access.to).name,
                     to_string(pair), access.status)});
  }
  if (far_apart > 0)
    findings.push_back({Severity::note, 0,
                        fmt::format("the driver lets {} pair{} of GPUs that no switch joins not "
                                    "reach each other: their data go through the host's memory",
                                    far_apart, far_apart == 1 ? "" : "s")});
  return findings;
}

}  // namespace ringside
