// SPDX-License-Identifier: MIT
#include "ringside/topology/writers/nccl_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/topology/build/from_xml.hpp"

namespace ringside {
namespace {

constexpr std::string_view fabric_target = "fffffff:ffff:ff";

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::unsupported, "cannot be written as NCCL's XML: " + why);
}

bool is_fabric(LinkKind kind) { return kind == LinkKind::nvlink || kind == LinkKind::xgmi; }

/// NCCL's parser knows neither quotes nor brackets inside of values.
std::string safe(std::string_view value) {
  std::string text(value.substr(0, 254));
  for (char& c : text)
    if (c == '"' || c == '<' || c == '>' || c == '&' || static_cast<unsigned char>(c) < 0x20)
      c = '_';
  return text;
}

class XmlWriter {
 public:
  explicit XmlWriter(const Topology& topology) : topology_(topology) { address_switches(); }

  std::string write() {
    const auto numa_nodes = topology_.of_kind(NodeKind::numa_node);
    if (numa_nodes.empty()) refuse("no NUMA node is known");
    check_boxes();
    text_ = fmt::format("<system version=\"{}\"{}>\n", is_rocm() ? 2 : 1,
                        topology_.name.empty() ? "" : attribute("name", topology_.name));
    for (NodeId id = 0; id < static_cast<NodeId>(topology_.nodes().size()); ++id)
      if (topology_.node(id).kind == NodeKind::numa_node) write_cpu(id);
    text_ += "</system>\n";
    return std::move(text_);
  }

 private:
  static std::string attribute(std::string_view name, std::string_view value) {
    return fmt::format(" {}=\"{}\"", name, safe(value));
  }

  /// Details with a prefix, as attributes: those named first, then the others.
  static std::string attributes(const Node& node, std::string_view prefix,
                                std::initializer_list<std::string_view> first,
                                const std::set<std::string_view>& except = {}) {
    std::string text;
    const auto is_first = [&](std::string_view name) {
      return std::ranges::find(first, name) != first.end();
    };
    for (const auto name : first)
      if (const auto value = node.details.find(std::string(prefix) + std::string(name));
          value != node.details.end() && !except.contains(name))
        text += attribute(name, value->second);
    for (const auto& [key, value] : node.details) {
      if (!key.starts_with(prefix)) continue;
      const auto name = std::string_view(key).substr(prefix.size());
      // Without a prefix, only what is an attribute of the element itself.
      if (name.find('.') != std::string_view::npos || is_first(name) || except.contains(name))
        continue;
      if (prefix.empty()) continue;
      text += attribute(name, value);
    }
    return text;
  }

  [[nodiscard]] bool is_rocm() const {
    return std::ranges::any_of(topology_.nodes(),
                               [](const Node& node) { return node.details.contains("gpu.gcn"); }) ||
           std::ranges::any_of(topology_.links(),
                               [](const Link& link) { return link.kind == LinkKind::xgmi; });
  }

  void check_boxes() const {
    for (const auto& node : topology_.nodes())
      if (node.box != 0 && node.kind == NodeKind::numa_node && !node.details.contains("host_hash"))
        refuse("it has several boxes, and such a file describes one");
  }

  void address_switches() {
    std::set<PciAddress> used;
    for (const auto& node : topology_.nodes())
      if (node.address) used.insert(*node.address);
    PciAddress next{.domain = 0xffff, .bus = 0xff, .device = 0, .function = 0};
    for (NodeId id = 0; id < static_cast<NodeId>(topology_.nodes().size()); ++id) {
      const Node& node = topology_.node(id);
      if (node.kind != NodeKind::pcie_switch || node.address) continue;
      do {
        if (++next.device == 0x20) next.device = 1, --next.bus;
      } while (used.contains(next));
      switch_address_[id] = next;
    }
  }

  [[nodiscard]] std::string bus_id(NodeId id) const {
    const Node& node = topology_.node(id);
    if (node.address) return to_string(*node.address);
    if (const auto made = switch_address_.find(id); made != switch_address_.end())
      return to_string(made->second);
    refuse(
        fmt::format("the bus id of {} is not known (`lspci` and `nvidia-smi --query-gpu="
                    "index,pci.bus_id --format=csv` tell)",
                    node.name));
  }

  void open(int depth, std::string_view tag, const std::string& with) {
    text_ += fmt::format("{:{}}<{}{}", "", depth * 2, tag, with);
  }

  /// `children` writes what is inside; an element without is closed at once.
  template <class Children>
  void element(int depth, std::string_view tag, const std::string& with, Children&& children) {
    open(depth, tag, with);
    const std::size_t before = text_.size();
    text_ += ">\n";
    const std::size_t inside = text_.size();
    children();
    if (text_.size() == inside) {
      text_.resize(before);
      text_ += "/>\n";
    } else {
      text_ += fmt::format("{:{}}</{}>\n", "", depth * 2, tag);
    }
  }

  void write_cpu(NodeId id) {
    const Node& node = topology_.node(id);
    const std::string with =
        attribute("numaid", std::to_string(node.number.value_or(-1))) +
        attributes(node, "", {"host_hash", "affinity", "arch", "vendor", "familyid", "modelid"});
    element(1, "cpu", with, [&] { write_children(id, 2); });
  }

  void write_children(NodeId id, int depth) {
    for (const NodeId child : topology_.children(id)) {
      const Node& node = topology_.node(child);
      if (node.kind == NodeKind::host_bridge)
        write_children(child, depth);
      else if (node.kind == NodeKind::nic && !node.address)
        element(depth, "nic", "", [&] { write_nets(node, depth + 1); });
      else
        write_pci(child, depth);
    }
  }

  void write_pci(NodeId id, int depth) {
    const Node& node = topology_.node(id);
    const Link& link = topology_.link(*topology_.link_up(id));
    const auto stated = node.details.find("class");
    const std::string pci_class =
        stated == node.details.end() ? std::string(usual_pci_class(node.kind)) : stated->second;
    const std::string with =
        attribute("busid", bus_id(id)) + (pci_class.empty() ? "" : attribute("class", pci_class)) +
        attributes(node, "", {"vendor", "device", "subsystem_vendor", "subsystem_device"}) +
        attribute("link_speed", pcie_link_speed(link.generation)) +
        attribute("link_width", std::to_string(link.width.value_or(0)));
    element(depth, "pci", with, [&] {
      write_gpu(id, depth + 1);
      if (node.kind == NodeKind::nic && node.details.lower_bound("net0.") != node.details.end() &&
          node.details.lower_bound("net0.")->first.starts_with("net0."))
        element(depth + 1, "nic", "", [&] { write_nets(node, depth + 2); });
      write_children(id, depth + 1);
    });
  }

  void write_gpu(NodeId id, int depth) {
    const Node& node = topology_.node(id);
    if (node.kind != NodeKind::gpu) return;
    const auto stated = node.details.lower_bound("gpu.");
    const bool has_details = stated != node.details.end() && stated->first.starts_with("gpu.");
    const bool has_links = std::ranges::any_of(topology_.links_from(id), [&](LinkId each) {
      const LinkKind kind = topology_.link(each).kind;
      return is_fabric(kind) || kind == LinkKind::c2c;
    });
    if (!has_details && !has_links) return;
    const std::string dev = node.details.contains("gpu.dev") || !node.number
                                ? ""
                                : attribute("dev", std::to_string(*node.number));
    element(depth, "gpu",
            dev + attributes(node, "gpu.", {"dev", "sm", "gcn", "arch", "rank", "gdr"}), [&] {
              for (const LinkId each : topology_.links_from(id)) write_gpu_link(each, depth + 1);
            });
  }

  void write_gpu_link(LinkId id, int depth) {
    const Link& link = topology_.link(id);
    if (link.kind == LinkKind::c2c) {
      const int count = link.count.value_or(1);
      std::string with;
      if (link.bandwidth)
        with += attribute("bw", std::to_string(std::lround(*link.bandwidth * 1000 / count)));
      element(depth, "c2c", with + attribute("count", std::to_string(count)), [] {});
      return;
    }
    if (!is_fabric(link.kind)) return;
    const Node& peer = topology_.node(link.to);
    const bool sentinel = peer.kind == NodeKind::nvswitch && !peer.address;
    const auto stated = peer.details.find("class");
    const std::string target_class =
        stated != peer.details.end() ? stated->second : std::string(usual_pci_class(peer.kind));
    element(depth, link.kind == LinkKind::nvlink ? "nvlink" : "xgmi",
            attribute("target", sentinel ? std::string(fabric_target) : bus_id(link.to)) +
                (link.count ? attribute("count", std::to_string(*link.count)) : "") +
                attribute("tclass", target_class),
            [] {});
  }

  void write_nets(const Node& node, int depth) {
    for (int i = 0;; ++i) {
      const std::string with =
          attributes(node, fmt::format("net{}.", i),
                     {"name", "dev", "speed", "port", "latency", "guid", "maxconn", "gdr", "coll"});
      if (with.empty()) return;
      element(depth, "net", with, [] {});
    }
  }

  const Topology& topology_;
  std::map<NodeId, PciAddress> switch_address_;
  std::string text_;
};

}  // namespace

std::string nccl_xml(const Topology& topology) { return XmlWriter(topology).write(); }

}  // namespace ringside
