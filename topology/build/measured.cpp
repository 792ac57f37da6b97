// SPDX-License-Identifier: MIT
#include "ringside/topology/build/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/topology/build/annotate.hpp"

namespace ringside {
namespace {

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

/// What a matrix's heading says that its figures are.
struct Meaning {
  MeasuredQuantity quantity = MeasuredQuantity::bandwidth;
  MeasuredTraffic traffic = MeasuredTraffic::one_way;
  MeasuredMethod method = MeasuredMethod::unknown;
  std::optional<bool> peer_access;
  bool rows_receive = false;  ///< data go from the column's device to the row's
  bool from_host = false;     ///< the rows are the host's memory
  double unit = 1;            ///< of a figure, in GB/s or us
};

/// "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)".
std::optional<Meaning> meaning_of_peer_test(const std::string& title) {
  Meaning meaning;
  if (has(title, "P2P=Enabled")) meaning.peer_access = true;
  if (has(title, "P2P=Disabled")) meaning.peer_access = false;
  if (has(title, "Latency")) {
    if (title.ends_with("CPU")) return std::nullopt;  // of the call, not of the copy
    meaning.quantity = MeasuredQuantity::latency;
  } else if (has(title, "Bidirectional") || has(title, "bidirectional")) {
    meaning.traffic = MeasuredTraffic::both_ways;
  } else if (!has(title, "nidirectional")) {
    return std::nullopt;
  }
  return meaning;  // copies, or kernels with --sm_copy: the output does not tell
}

/// "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)". The figures of Read1 and Write2 do not
/// tell whose they are, tests of all GPUs at once are of no pair.
std::optional<Meaning> meaning_of_nvbandwidth(const PairMatrix& matrix) {
  const auto& text = matrix.description;
  const auto title = matrix.title.value_or("");
  if (title.starts_with("multinode") || has(title, "all_to") || has(title, "to_all") ||
      has(title, "one_to") || has(title, "to_one") || has(text, "Multinode"))
    return std::nullopt;
  Meaning meaning;
  meaning.method = has(text, " CE ")   ? MeasuredMethod::copy_engine
                   : has(text, " SM ") ? MeasuredMethod::kernel
                                       : MeasuredMethod::unknown;
  if (has(text, "atency")) {
    meaning.quantity = MeasuredQuantity::latency;
    meaning.unit = has(text, "(ns)") ? 1e-3 : 1;
  } else if (!has(text, "(GB/s)")) {
    return std::nullopt;
  }
  meaning.from_host = has(text, "CPU(row)");
  if (!meaning.from_host && !has(text, "GPU(row)")) return std::nullopt;
  if (!meaning.from_host) meaning.peer_access = true;  // it measures accessible peers only
  if (has(text, "<->") && meaning.quantity == MeasuredQuantity::bandwidth) {
    if (!has(text, "Total")) return std::nullopt;
    meaning.traffic = MeasuredTraffic::both_ways;
  }
  meaning.rows_receive = has(text, "<-") && !has(text, "<->");
  if (has(title, "bidirectional") && meaning.traffic != MeasuredTraffic::both_ways)
    return std::nullopt;
  return meaning;
}

void add_matrix(const PairMatrix& matrix, const Meaning& meaning, const std::string& source,
                std::vector<PairMeasurement>& pairs) {
  for (std::size_t i = 0; i < matrix.values.size(); ++i)
    for (std::size_t j = 0; j < matrix.values[i].size(); ++j) {
      const auto& value = matrix.values[i][j];
      if (!value) continue;
      PairMeasurement each{.from = meaning.from_host ? host_memory : matrix.row_ids[i],
                           .to = static_cast<int>(j),
                           .quantity = meaning.quantity,
                           .traffic = meaning.traffic,
                           .method = meaning.method,
                           .peer_access = meaning.peer_access,
                           .value = *value * meaning.unit,
                           .source = source};
      if (each.from == each.to) {
        if (*value == 0) continue;  // nvbandwidth's diagonal, in some versions
        each.peer_access.reset();
      }
      if (meaning.rows_receive) std::swap(each.from, each.to);
      pairs.push_back(std::move(each));
    }
}

/// P2P that is enabled between GPUs that cannot is none: the test then copies as without.
void correct_access(const PeerBandwidthTest& test, std::vector<PairMeasurement>& pairs) {
  std::set<std::pair<int, int>> none;
  for (const auto& each : test.access)
    if (!each.can_access) none.emplace(each.device, each.peer);
  for (const auto& matrix : test.matrices) {
    if (!matrix.title || !has(*matrix.title, "Connectivity")) continue;
    for (std::size_t i = 0; i < matrix.values.size(); ++i)
      for (std::size_t j = 0; j < matrix.values[i].size(); ++j)
        if (matrix.values[i][j] == 0.0) none.emplace(matrix.row_ids[i], static_cast<int>(j));
  }
  for (auto& each : pairs)
    if (each.peer_access == true && none.contains({each.from, each.to})) each.peer_access = false;
}

/// With --p2p_read the row's device fetches from the column's; only some of the titles say so.
bool rows_receive(const PeerBandwidthTest& test) {
  return std::ranges::any_of(test.matrices, [](const PairMatrix& matrix) {
    return matrix.title && has(*matrix.title, "(P2P Reads)");
  });
}

Measurements measured_by(const PeerBandwidthTest& test) {
  Measurements measured;
  for (const auto& matrix : test.matrices)
    if (auto meaning = matrix.title ? meaning_of_peer_test(*matrix.title) : std::nullopt) {
      meaning->rows_receive = rows_receive(test);
      add_matrix(matrix, *meaning, *matrix.title, measured.pairs);
    }
  correct_access(test, measured.pairs);
  return measured;
}

Measurements measured_by(const NvBandwidth& facts) {
  Measurements measured;
  for (const auto& matrix : facts.tests)
    if (const auto meaning = meaning_of_nvbandwidth(matrix))
      add_matrix(matrix, *meaning, matrix.title.value_or(matrix.description), measured.pairs);
  return measured;
}

std::vector<MeasuredDevice> devices_of(const PreflightReport& report) {
  std::vector<MeasuredDevice> devices;
  for (const auto& each : report.devices) devices.push_back(each.device);
  return devices;
}

/// A program's numbers of GPUs -> a topology's.
class Numbering {
 public:
  Numbering(const std::vector<MeasuredDevice>& devices, const Topology& topology) {
    const auto gpus = topology.gpus();
    for (const NodeId id : gpus)
      if (topology.node(id).box == 0 && topology.node(id).number)
        known_.push_back(*topology.node(id).number);
    if (!by_address(devices, topology)) in_order_of_addresses(devices);
    is_certain_ = !numbers_.empty() || devices.size() == known_.size();
  }

  /// Nothing where the topology has no such GPU.
  [[nodiscard]] std::optional<int> of(int number) const {
    if (number == host_memory) return number;
    const auto found = numbers_.find(number);
    if (found != numbers_.end()) return found->second;
    if (numbers_.empty() && std::ranges::find(known_, number) != known_.end()) return number;
    return std::nullopt;
  }

  [[nodiscard]] bool is_certain() const { return is_certain_; }

 private:
  bool by_address(const std::vector<MeasuredDevice>& devices, const Topology& topology) {
    for (const auto& each : devices) {
      const auto node = each.address ? topology.find(*each.address) : std::nullopt;
      if (node && topology.node(*node).kind == NodeKind::gpu && topology.node(*node).number)
        numbers_.emplace(each.number, *topology.node(*node).number);
    }
    if (numbers_.size() == devices.size() && !devices.empty()) return true;
    numbers_.clear();
    return false;
  }

  void in_order_of_addresses(const std::vector<MeasuredDevice>& devices) {
    std::map<PciAddress, int> order;
    for (const auto& each : devices)
      if (each.address) order.emplace(*each.address, each.number);
    if (order.size() != devices.size() || order.size() != known_.size()) return;
    std::size_t place = 0;
    for (const auto& [address, number] : order) numbers_.emplace(number, known_[place++]);
  }

  std::vector<int> known_;
  std::map<int, int> numbers_;
  bool is_certain_ = false;
};

void renumber(const Reading& reading, const std::vector<MeasuredDevice>& devices,
              const Topology& topology, Measurements& measured, std::vector<Finding>& findings) {
  const Numbering numbering(devices, topology);
  const auto moved = [&](int number) {
    const auto known = numbering.of(number);
    if (!known)
      throw Error(ErrorCode::bad_input,
                  fmt::format("the inputs are of different machines: {} has a GPU {}, but the "
                              "topology does not",
                              reading.source, number));
    return *known;
  };
  for (auto& each : measured.pairs) each.from = moved(each.from), each.to = moved(each.to);
  for (auto& each : measured.faults) {
    if (each.from) each.from = moved(*each.from);
    if (each.to) each.to = moved(*each.to);
  }
  if (!numbering.is_certain() && !measured.empty() && !devices.empty())
    findings.push_back(
        {Severity::note, 0,
         fmt::format("{}: its GPUs are taken to be numbered as in the topology", reading.source)});
}

/// The measurements of a reading with the devices that it lists.
struct Measured {
  Measurements measurements;
  std::vector<MeasuredDevice> devices;
};

std::optional<Measured> measured_in(const Reading& reading) {
  if (const auto* test = std::get_if<PeerBandwidthTest>(&reading.facts))
    return Measured{measured_by(*test), test->devices};
  if (const auto* facts = std::get_if<NvBandwidth>(&reading.facts))
    return Measured{measured_by(*facts), facts->devices};
  if (const auto* report = std::get_if<PreflightReport>(&reading.facts))
    return Measured{report->measured, devices_of(*report)};
  return std::nullopt;
}

/// "OK" is the word of `nvidia-smi topo -p2p`; who refuses CUDA does not tell.
void add_access(int device, int peer, bool can_access, const Numbering& numbering,
                Topology& topology) {
  const auto from = numbering.of(device), to = numbering.of(peer);
  if (!from || !to || from == to) return;
  const auto first = topology.find(fmt::format("GPU{}", *from)),
             second = topology.find(fmt::format("GPU{}", *to));
  if (!first || !second) return;
  PeerAccess access{.from = *first,
                    .to = *second,
                    .capability = "",
                    .status = can_access ? "OK" : peer_access_refused};
  if (std::ranges::find(topology.peer_access, access) == topology.peer_access.end())
    topology.peer_access.push_back(std::move(access));
}

void note_devices(const std::vector<MeasuredDevice>& devices, const Numbering& numbering,
                  Topology& topology) {
  for (const auto& each : devices) {
    const auto number = numbering.of(each.number);
    const auto id = number ? topology.find(fmt::format("GPU{}", *number)) : std::nullopt;
    if (!id) continue;
    Node& node = topology.node(*id);
    if (!node.model && !each.model.empty()) node.model = each.model;
    if (!node.address && each.address && !topology.find(*each.address)) node.address = each.address;
  }
}

}  // namespace

Measurements measurements_of(std::span<const Reading> readings, const Topology* topology,
                             std::vector<Finding>& findings) {
  Measurements all;
  for (const auto& reading : readings) {
    auto found = measured_in(reading);
    if (!found) continue;
    if (topology != nullptr)
      renumber(reading, found->devices, *topology, found->measurements, findings);
    std::ranges::move(found->measurements.pairs, std::back_inserter(all.pairs));
    std::ranges::move(found->measurements.faults, std::back_inserter(all.faults));
  }
  return all;
}

void add_measured_devices(std::span<const Reading> readings, Topology& topology,
                          std::vector<Finding>& findings) {
  for (const auto& reading : readings) {
    const auto found = measured_in(reading);
    if (!found || found->devices.empty()) continue;
    const Numbering numbering(found->devices, topology);
    note_devices(found->devices, numbering, topology);
    if (const auto* test = std::get_if<PeerBandwidthTest>(&reading.facts))
      for (const auto& each : test->access)
        add_access(each.device, each.peer, each.can_access, numbering, topology);
    if (const auto* report = std::get_if<PreflightReport>(&reading.facts)) {
      for (const auto& each : report->peers)
        add_access(each.device, each.peer, each.can_access, numbering, topology);
      std::vector<PcieStatus> links;
      for (const auto& each : report->devices) {
        auto link = each.link;
        link.index = numbering.of(each.device.number);
        if (link.index) links.push_back(std::move(link));
      }
      add_pcie_status(links, topology, findings);
    }
  }
}

}  // namespace ringside
