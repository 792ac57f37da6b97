// SPDX-License-Identifier: MIT
#include "ringside/topology/build/from_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside {
namespace {

/// GT/s of each generation, from 1; the PCI Express base specifications.
constexpr std::array<std::string_view, 7> gigatransfers = {"2.5", "5",  "8",  "16",
                                                           "32",  "64", "128"};

std::optional<int> number_of(const XmlElement& element, std::string_view attribute) {
  const auto* text = element.attribute(attribute);
  const auto number =
      text == nullptr ? std::nullopt : parse_int(*text, -1, std::numeric_limits<int>::max());
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

/// NVLink generations by compute capability: P100 1, V100 2, A100 3, H100 4, B200 5.
std::optional<int> nvlink_generation(std::optional<int> sm) {
  if (!sm) return std::nullopt;
  if (*sm >= 100) return 5;
  if (*sm >= 90) return 4;
  if (*sm >= 80) return 3;
  if (*sm >= 70) return 2;
  return *sm >= 60 ? std::optional(1) : std::nullopt;
}

/// Whether a target names no device but the fabric as a whole: all f.
bool is_fabric_sentinel(std::string_view target) {
  return !target.empty() && target.find_first_not_of("fF:.0") == std::string_view::npos &&
         target.find_first_of("fF") != std::string_view::npos;
}

const XmlElement* child(const XmlElement& element, std::string_view tag) {
  const auto found = std::ranges::find(element.children, tag, &XmlElement::tag);
  return found == element.children.end() ? nullptr : &*found;
}

void keep_details(const XmlElement& element, std::string_view prefix, Node& node,
                  std::initializer_list<std::string_view> except = {}) {
  for (const auto& [name, value] : element.attributes)
    if (std::ranges::find(except, name) == except.end())
      node.details[std::string(prefix) + name] = value;
}

class XmlBuilder {
 public:
  explicit XmlBuilder(std::vector<Finding>& findings) : findings_(findings) {}

  Topology build(const XmlElement& system) {
    if (const auto* name = system.attribute("name")) topology_.name = *name;
    number_gpus(system);
    for (const auto& element : system.children)
      if (element.tag == "cpu") add_cpu(element);
    join_numa_nodes();
    for (const auto& [gpu, element] : gpu_elements_) add_gpu_links(gpu, *element);
    return std::move(topology_);
  }

 private:
  void find(Severity severity, int line, std::string text) {
    findings_.push_back({severity, line, std::move(text)});
  }

  // --- numbering ---

  static void collect_gpus(const XmlElement& element, std::vector<const XmlElement*>& gpus) {
    for (const auto& each : element.children) {
      if (each.tag == "pci") {
        const auto* pci_class = each.attribute("class");
        if (child(each, "gpu") != nullptr || (pci_class != nullptr && is_gpu_class(*pci_class)))
          gpus.push_back(&each);
      }
      collect_gpus(each, gpus);
    }
  }

  /// By `dev` where every GPU has one of its own, else in the order of the bus ids, which is how
  /// NVML counts.
  void number_gpus(const XmlElement& system) {
    std::vector<const XmlElement*> gpus;
    for (const auto& cpu : system.children)
      if (cpu.tag == "cpu") collect_gpus(cpu, gpus);
    std::map<int, const XmlElement*> by_dev;
    for (const auto* pci : gpus)
      if (const auto* gpu = child(*pci, "gpu"))
        if (const auto dev = number_of(*gpu, "dev"); dev && *dev >= 0) by_dev.emplace(*dev, pci);
    if (by_dev.size() == gpus.size()) {
      for (const auto& [dev, pci] : by_dev) gpu_number_[pci] = dev;
      return;
    }
    std::ranges::stable_sort(gpus, {}, [](const XmlElement* pci) {
      const auto* bus = pci->attribute("busid");
      return bus == nullptr ? PciAddress{} : parse_pci_address(*bus).value_or(PciAddress{});
    });
    for (std::size_t i = 0; i < gpus.size(); ++i) gpu_number_[gpus[i]] = static_cast<int>(i);
    find(Severity::note, gpus.front()->line,
         "not every GPU has a number of its own (gpu dev): numbered by bus id");
  }

  // --- the tree ---

  void add_cpu(const XmlElement& element) {
    const auto id = number_of(element, "numaid");
    Node node;
    node.kind = NodeKind::numa_node;
    node.number = id;
    keep_details(element, "", node, {"numaid"});
    const auto* host = element.attribute("host_hash");
    node.box =
        host == nullptr ? 0 : boxes_.emplace(*host, static_cast<int>(boxes_.size())).first->second;
    node.name = unique(id ? fmt::format("numa{}", *id) : "numa", node.box);
    if (!id) find(Severity::warning, element.line, "<cpu> without numaid: NCCL needs one");
    const NodeId numa = topology_.add(std::move(node));
    add_children(element, numa);
  }

  void add_children(const XmlElement& element, NodeId parent) {
    for (const auto& each : element.children) {
      if (each.tag == "pci")
        add_pci(each, parent);
      else if (each.tag == "nic" && topology_.node(parent).kind != NodeKind::nic)
        add_virtual_nic(each, parent);
      else if (each.tag == "pcilink")
        find(Severity::note, each.line, "<pcilink> is not looked at");
    }
  }

  void add_pci(const XmlElement& element, NodeId parent) {
    Node node;
    node.box = topology_.node(parent).box;
    keep_details(element, "", node, {"busid", "link_speed", "link_width"});
    note_address(element, node);
    node.kind = kind_of(element);
    if (const auto stated = node.details.find("class");
        stated != node.details.end() && stated->second == usual_pci_class(node.kind))
      node.details.erase(stated);
    if (const auto* gpu = child(element, "gpu")) keep_details(*gpu, "gpu.", node);
    if (node.kind == NodeKind::gpu) node.number = gpu_number_.at(&element);
    if (const auto* nic = child(element, "nic")) keep_nets(*nic, node);
    node.name = name_of(node);
    const auto address = node.address;
    const int box = node.box;
    const NodeId id = topology_.add(std::move(node));
    if (address) nodes_.emplace(std::pair(box, *address), id);
    if (const auto* gpu = child(element, "gpu")) gpu_elements_.emplace_back(id, gpu);
    connect_up(element, id, parent);
    add_children(element, id);
  }

  void note_address(const XmlElement& element, Node& node) {
    const auto* bus = element.attribute("busid");
    node.address = bus == nullptr ? std::nullopt : parse_pci_address(*bus);
    if (bus != nullptr && !node.address)
      find(Severity::warning, element.line, fmt::format("{} is no bus id", quote(*bus)));
    if (!node.address) return;
    if (!by_address_.emplace(std::pair(node.box, *node.address), element.line).second)
      throw Error(ErrorCode::bad_input,
                  fmt::format("lines {} and {} both describe the device at {}",
                              by_address_[std::pair(node.box, *node.address)], element.line, *bus));
  }

  static NodeKind kind_of(const XmlElement& element) {
    const auto* pci_class = element.attribute("class");
    if (child(element, "gpu") != nullptr) return NodeKind::gpu;
    if (child(element, "nic") != nullptr) return NodeKind::nic;
    if (pci_class == nullptr || pci_class->empty())
      return child(element, "pci") != nullptr ? NodeKind::pcie_switch : NodeKind::pcie_device;
    if (is_gpu_class(*pci_class)) return NodeKind::gpu;
    if (is_nic_class(*pci_class)) return NodeKind::nic;
    if (is_switch_class(*pci_class) || child(element, "pci") != nullptr)
      return NodeKind::pcie_switch;
    return pci_class->starts_with("0x068000") ? NodeKind::nvswitch : NodeKind::pcie_device;
  }

  void keep_nets(const XmlElement& nic, Node& node) {
    int count = 0;
    for (const auto& net : nic.children)
      if (net.tag == "net") keep_details(net, fmt::format("net{}.", count++), node);
  }

  std::string name_of(const Node& node) {
    switch (node.kind) {
      case NodeKind::gpu:
        return unique(fmt::format("GPU{}", *node.number), node.box);
      case NodeKind::nic:
        if (const auto name = node.details.find("net0.name");
            name != node.details.end() && !name->second.empty())
          return unique(name->second, node.box);
        return unique("NIC", node.box, true);
      case NodeKind::pcie_switch:
        return unique("switch", node.box, true);
      case NodeKind::nvswitch:
        return unique("nvswitch", node.box, true);
      default:
        return unique("device", node.box, true);
    }
  }

  /// The name itself, or with a number behind it where it is taken or must have one.
  std::string unique(const std::string& name, int box, bool numbered = false) {
    const std::string full = box == 0 ? name : fmt::format("box{}/{}", box, name);
    int& next = next_[full];
    std::string candidate = numbered || next > 0 ? full + std::to_string(next) : full;
    while (topology_.find(candidate)) candidate = full + std::to_string(++next);
    ++next;
    return candidate;
  }

  void connect_up(const XmlElement& element, NodeId from, NodeId to) {
    Link link;
    link.from = from;
    link.to = to;
    if (const auto* speed = element.attribute("link_speed")) {
      link.generation = pcie_generation(*speed);
      if (!link.generation && !trim(*speed).empty())
        find(Severity::warning, element.line,
             fmt::format("{} is no PCIe speed: NCCL takes 8 GT/s", quote(*speed)));
    }
    const auto width = number_of(element, "link_width");
    if (width && *width > 0) link.width = *width;
    topology_.connect(link);
  }

  /// A NIC straight under a `cpu` is no PCI device of the machine.
  void add_virtual_nic(const XmlElement& element, NodeId parent) {
    Node node;
    node.kind = NodeKind::nic;
    node.box = topology_.node(parent).box;
    keep_nets(element, node);
    node.name = name_of(node);
    Link link;
    link.from = topology_.add(std::move(node));
    link.to = parent;
    link.origin = Origin::inferred;
    topology_.connect(link);
  }

  // --- across the tree ---

  /// NCCL links all `cpu` elements of a host to each other.
  void join_numa_nodes() {
    const auto numa_nodes = topology_.of_kind(NodeKind::numa_node);
    for (std::size_t i = 0; i < numa_nodes.size(); ++i)
      for (std::size_t j = i + 1; j < numa_nodes.size(); ++j) {
        if (topology_.node(numa_nodes[i]).box != topology_.node(numa_nodes[j]).box) continue;
        Link link;
        link.from = numa_nodes[i];
        link.to = numa_nodes[j];
        link.kind = LinkKind::socket;
        link.origin = Origin::inferred;
        topology_.connect(link);
      }
  }

  void add_gpu_links(NodeId gpu, const XmlElement& element) {
    for (const auto& each : element.children) {
      if (each.tag == "nvlink" || each.tag == "xgmi") add_fabric_link(gpu, element, each);
      if (each.tag == "c2c") add_c2c(gpu, each);
    }
  }

  void add_fabric_link(NodeId gpu, const XmlElement& element, const XmlElement& nvlink) {
    const auto* target = nvlink.attribute("target");
    const auto peer = target == nullptr ? std::nullopt : target_of(gpu, *target, nvlink);
    if (!peer) return;
    Link link;
    link.from = gpu;
    link.to = *peer;
    link.kind = nvlink.tag == "nvlink" ? LinkKind::nvlink : LinkKind::xgmi;
    link.count = number_of(nvlink, "count");
    if (link.kind == LinkKind::nvlink)
      link.generation = nvlink_generation(number_of(element, "sm"));
    for (const LinkId each : topology_.links_from(gpu)) {
      Link& known = topology_.link(each);
      if (known.to != *peer || known.kind != link.kind) continue;
      if (each % 2 == 1 && known.count == link.count) return;  // the other end told
      if (each % 2 == 1)
        find(Severity::warning, nvlink.line,
             fmt::format("{} and {} count their links differently", topology_.node(gpu).name,
                         topology_.node(*peer).name));
      else
        find(Severity::warning, nvlink.line, "the same link is there twice");
      known.count = link.count;
      return;
    }
    topology_.connect(link);
  }

  std::optional<NodeId> target_of(NodeId gpu, const std::string& target, const XmlElement& nvlink) {
    const int box = topology_.node(gpu).box;
    const auto address = parse_pci_address(target);
    const auto at = address ? nodes_.find(std::pair(box, *address)) : nodes_.end();
    const auto known = at == nodes_.end() ? std::nullopt : std::optional(at->second);
    if (known == gpu) {
      find(Severity::warning, nvlink.line,
           fmt::format("{} is linked to itself: not taken", topology_.node(gpu).name));
      return std::nullopt;
    }
    if (known) return known;
    const auto* target_class = nvlink.attribute("tclass");
    const bool to_switch = target_class != nullptr && target_class->starts_with("0x068000");
    if (!to_switch && !is_fabric_sentinel(target)) {
      find(Severity::warning, nvlink.line,
           fmt::format("no device has the bus id {}, to which {} is linked", quote(target),
                       topology_.node(gpu).name));
      return std::nullopt;
    }
    return fabric(box, is_fabric_sentinel(target) ? std::nullopt : address);
  }

  /// A switch that is no element of the tree: one for each address, or one for the whole fabric.
  NodeId fabric(int box, std::optional<PciAddress> address) {
    const auto [at, added] = fabrics_.emplace(std::pair(box, address), -1);
    if (added) {
      Node node;
      node.kind = NodeKind::nvswitch;
      node.box = box;
      node.address = address;
      node.name = name_of(node);
      at->second = topology_.add(std::move(node));
    }
    return at->second;
  }

  void add_c2c(NodeId gpu, const XmlElement& element) {
    Link link;
    link.from = gpu;
    link.to = topology_.root(gpu);
    link.kind = LinkKind::c2c;
    link.count = number_of(element, "count");
    if (const auto bandwidth = number_of(element, "bw"))
      link.bandwidth = *bandwidth * link.count.value_or(1) / 1000.0;  // MB/s a link
    topology_.connect(link);
  }

  std::vector<Finding>& findings_;
  Topology topology_;
  std::map<const XmlElement*, int> gpu_number_;
  std::vector<std::pair<NodeId, const XmlElement*>> gpu_elements_;
  std::map<std::string, int> boxes_, next_;
  std::map<std::pair<int, PciAddress>, int> by_address_;  // the lines that describe them
  std::map<std::pair<int, PciAddress>, NodeId> nodes_;
  std::map<std::pair<int, std::optional<PciAddress>>, NodeId> fabrics_;
};

}  // namespace

std::optional<int> pcie_generation(std::string_view link_speed) {
  const auto words = split_blanks(link_speed);
  if (words.empty()) return std::nullopt;
  std::string_view speed = words.front();
  if (const auto unit = speed.find("GT"); unit != std::string_view::npos)
    speed = speed.substr(0, unit);
  if (speed.ends_with(".0")) speed.remove_suffix(2);
  const auto found = std::ranges::find(gigatransfers, speed);
  if (found == gigatransfers.end()) return std::nullopt;
  return static_cast<int>(found - gigatransfers.begin()) + 1;
}

std::string pcie_link_speed(std::optional<int> generation) {
  if (!generation || *generation < 1 || *generation > static_cast<int>(gigatransfers.size()))
    return "";
  const auto speed = gigatransfers[static_cast<std::size_t>(*generation - 1)];
  return fmt::format("{}{} GT/s PCIe", speed,
                     speed.find('.') == std::string_view::npos ? ".0" : "");
}

std::string_view usual_pci_class(NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu:
      return "0x030200";
    case NodeKind::nic:
      return "0x020000";
    case NodeKind::pcie_switch:
      return "0x060400";
    case NodeKind::nvswitch:
      return "0x068000";
    case NodeKind::numa_node:
      return "0x068001";
    default:
      return "";
  }
}

Topology topology_from_xml(const NcclXml& xml, std::vector<Finding>& findings) {
  return XmlBuilder(findings).build(xml.system);
}

}  // namespace ringside
