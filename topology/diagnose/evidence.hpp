// SPDX-License-Identifier: MIT
/// What there is to judge a machine by: readings of all inputs, the machine that they describe,
/// what was measured, and the lines of the inputs, so that a finding can show them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/build/build_topology.hpp"
#include "ringside/topology/diagnose/diagnosis.hpp"
#include "ringside/topology/diagnose/input.hpp"
#include "ringside/topology/measurements.hpp"
#include "ringside/topology/readers/host_facts.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {

/// A text as it was given.
struct EvidenceText {
  std::string source;  ///< a file's name
  std::string text;
};

/// Facts with the reading that they are of.
template <class Kind>
struct Found {
  const Kind* facts = nullptr;
  const Reading* reading = nullptr;

  const Kind* operator->() const { return facts; }
};

/// A value that some line of an input states.
struct StatedValue {
  std::string value;
  ShownLine line;
};

struct Evidence {
  struct Source {
    std::string name;
    Text text;
    int lines = 0;    ///< that are neither blank nor comments
    int unknown = 0;  ///< of these: in no reading
  };

  std::vector<Source> sources;
  std::vector<Reading> readings;
  /// Nothing where the inputs do not tell how devices are linked.
  std::optional<BuiltTopology> built;
  Measurements measured;  ///< in the numbers of `built` where there is one
  bool live = false;      ///< this machine was asked

  // ---- what there is
  template <class Kind>
  [[nodiscard]] std::vector<Found<Kind>> all() const {
    std::vector<Found<Kind>> found;
    for (const auto& reading : readings)
      if (const auto* facts = std::get_if<Kind>(&reading.facts)) found.push_back({facts, &reading});
    return found;
  }
  [[nodiscard]] const Topology* topology() const { return built ? &built->topology : nullptr; }
  /// How many, from whatever tells; nothing where nothing does.
  [[nodiscard]] std::optional<int> gpus() const;
  [[nodiscard]] bool has(Input input) const;
  /// The topology has no NVLink, but that does not show that the machine has none: its GPUs are SXM
  /// modules, `topo -mp` or a vendor's file for NCCL list the buses only.
  [[nodiscard]] bool nvlink_untold() const;

  // ---- facts about the host and the environment
  /// In the order of the inputs.
  [[nodiscard]] std::vector<StatedValue> host(HostFactKind kind, std::string_view key) const;
  /// The last one: what was set later counts.
  [[nodiscard]] std::optional<StatedValue> host_value(HostFactKind kind,
                                                      std::string_view key) const;
  /// A variable, as NCCL's log or the environment states it.
  [[nodiscard]] std::optional<StatedValue> environment(std::string_view variable) const;
  /// The line that says that this is a virtual machine.
  [[nodiscard]] std::optional<ShownLine> hypervisor() const;
  /// Models of GPUs that any input names, each once.
  [[nodiscard]] std::vector<std::string> gpu_models() const;

  // ---- lines to show
  [[nodiscard]] std::optional<ShownLine> line(std::string_view source, int number) const;
  /// Lines of a reading that fit, the first `most` of them.
  [[nodiscard]] std::vector<ShownLine> lines(const Reading& reading,
                                             const std::function<bool(std::string_view)>& fits,
                                             std::size_t most = 4) const;
  [[nodiscard]] std::vector<ShownLine> lines_with(const Reading& reading, std::string_view part,
                                                  std::size_t most = 4) const;
  /// The rows of `topo -m`, `topo -p2p` and their like of these devices.
  [[nodiscard]] std::vector<ShownLine> rows_of(const Reading& reading,
                                               std::span<const std::string> devices) const;
};

/// What the texts tell of one machine. Throws Error(bad_input) when nothing in them is understood,
/// when a piece must be refused, or when they are of different machines.
[[nodiscard]] Evidence read_evidence(std::span<const EvidenceText> texts);
/// Files, "-" for standard input, or a preset, as load_topology takes them.
[[nodiscard]] Evidence load_evidence(std::span<const std::string> inputs);
/// A machine that was built elsewhere: this one, a preset.
[[nodiscard]] Evidence evidence_of(BuiltTopology built);

// ---- what most rules need of a topology; GPUs are counted as in Topology::gpus()

/// What `topo -p2p r` (or w, or another tool) says of reaching from one GPU to another over PCIe or
/// at all: "OK", "NS", ...; "" where nothing does.
[[nodiscard]] std::string peer_status(const Topology& topology, NodeId from, NodeId to);

/// Measured one way, else half of both ways; GB/s. Nothing where it was not measured so.
[[nodiscard]] std::optional<double> measured_one_way(const Measurements& measured, int from, int to,
                                                     std::optional<bool> peer_access = {});

/// The mean of what is there; nothing for an empty one.
[[nodiscard]] std::optional<double> mean_of(std::span<const double> values);

}  // namespace ringside
