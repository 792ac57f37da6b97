// SPDX-License-Identifier: MIT
#include "ringside/topology/live/hwloc.hpp"

#include <fmt/format.h>

#include <map>

#include "ringside/base/error.hpp"
#include "ringside/topology/live/library.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

/// The part of hwloc's interface (version 2) that is used, as its documentation gives it.
class Hwloc {
 public:
  explicit Hwloc(const std::string& path) : library_(path) {
    library_.find(init, "hwloc_topology_init");
    library_.find(set_components, "hwloc_topology_set_components");
    library_.find(keep_devices, "hwloc_topology_set_io_types_filter");
    library_.find(load, "hwloc_topology_load");
    library_.find(export_xml, "hwloc_topology_export_xmlbuffer");
    library_.find(free_xml, "hwloc_free_xmlbuffer");
    library_.find(destroy, "hwloc_topology_destroy");
  }

  [[nodiscard]] bool opened() const { return library_.opened(); }
  [[nodiscard]] bool usable() const {
    return init && keep_devices && load && export_xml && free_xml && destroy;
  }

  int (*init)(void**) = nullptr;
  int (*set_components)(void*, unsigned long, const char*) = nullptr;
  int (*keep_devices)(void*, int) = nullptr;
  int (*load)(void*) = nullptr;
  int (*export_xml)(void*, char**, int*, unsigned long) = nullptr;
  void (*free_xml)(void*, char*) = nullptr;
  void (*destroy)(void*) = nullptr;

 private:
  Library library_;
};

/// "" where the library fails.
std::string xml_of_this_machine(const Hwloc& hwloc) {
  void* topology = nullptr;
  if (hwloc.init(&topology) != 0) return "";
  constexpr int important = 3;  // HWLOC_TYPE_FILTER_KEEP_IMPORTANT
  constexpr unsigned long blacklist = 1;
  // Its parts that start the GPUs' drivers tell nothing that is wanted here, and may hang.
  if (hwloc.set_components != nullptr)
    for (const char* part : {"cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"})
      hwloc.set_components(topology, blacklist, part);
  std::string xml;
  char* buffer = nullptr;
  int length = 0;
  if (hwloc.keep_devices(topology, important) == 0 && hwloc.load(topology) == 0 &&
      hwloc.export_xml(topology, &buffer, &length, 0) == 0 && buffer != nullptr) {
    xml = buffer;
    hwloc.free_xml(topology, buffer);
  }
  hwloc.destroy(topology);
  return xml;
}

}  // namespace

std::optional<PciMachine> read_hwloc(const std::string& library, std::vector<Finding>& findings) {
  const auto lacks = [&](std::string text) {
    findings.push_back({Severity::note, 0, std::move(text)});
    return std::nullopt;
  };
  const Hwloc hwloc(library);
  if (!hwloc.opened())
    return lacks(
        fmt::format("no hwloc ({} cannot be opened): packages and caches are not known", library));
  const auto xml = hwloc.usable() ? xml_of_this_machine(hwloc) : "";
  if (xml.empty()) return lacks(fmt::format("{} is there, but does not answer", library));
  try {
    for (auto& reading : read_hwloc_xml(clean_text(xml)))
      if (auto* machine = std::get_if<HwlocMachine>(&reading.facts)) return std::move(machine->pci);
  } catch (const Error& error) {
    return lacks(fmt::format("what {} tells cannot be read: {}", library, error.what()));
  }
  return lacks(fmt::format("{} is there, but tells nothing", library));
}

void add_hwloc(const PciMachine& hwloc, PciMachine& machine) {
  if (machine.functions.empty()) {
    machine.functions = hwloc.functions;
  } else {
    std::map<PciAddress, const PciFunction*> told;
    for (const auto& each : hwloc.functions) told.emplace(each.address, &each);
    for (auto& each : machine.functions)
      if (const auto found = told.find(each.address); found != told.end() && !each.numa)
        each.numa = found->second->numa;
  }
  for (const auto& [node, cores] : hwloc.processors) machine.processors.emplace(node, cores);
  for (const auto& [node, details] : hwloc.numa_details)
    machine.numa_details[node].insert(details.begin(), details.end());
}

}  // namespace ringside
