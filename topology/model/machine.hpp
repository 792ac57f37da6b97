// SPDX-License-Identifier: MIT
/// A topology with figures: what the twin runs plans on. From a topology and a link model come the
/// resources of the flow engine, the ways of data between memories, and what issuing work costs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ringside/topology/bounds/capacity_graph.hpp"
#include "ringside/topology/graph.hpp"
#include "ringside/topology/model/link_model.hpp"
#include "ringside/topology/network/flow_engine.hpp"

namespace ringside {

/// Who moves the bytes of an op: a kernel on the GPU's processors, which may fold while it copies,
/// or a copy engine, which only copies.
enum class Mover { kernel, copy_engine };

/// Memory: a GPU's own, or pinned memory of the host nearest to that GPU.
struct Place {
  int gpu = 0;  ///< index in Topology::gpus()
  bool host = false;

  bool operator==(const Place&) const = default;
};

/// How bytes move: what they take of which resources, and how long the first is under way.
struct Way {
  std::vector<Use> uses;
  double latency = 0;  ///< seconds

  bool operator==(const Way&) const = default;
};

/// What issuing work costs, in seconds.
struct Overheads {
  double call = 0;     ///< once a call: from its start until the first op can begin
  double op = 0;       ///< before each op of a kernel
  double copy_op = 0;  ///< before each op of a copy engine
  double wait = 0;     ///< from an op's end until an op of another stream that waits for it sees it

  bool operator==(const Overheads&) const = default;
};

/// What of the machine is other than the topology says. See what_if.hpp for words.
struct MachineSettings {
  /// Of pairs without NVLink: off: data go through the host; on: directly, whatever the inputs and
  /// the class say; nothing: as these say.
  std::optional<bool> peer_access = {};
  /// Pairs without peer access: an op's data stream through the host's memory, as in NCCL's shared
  /// memory transport. Off: plans are lowered to copies into it and out of it.
  bool streams_through_host = false;
  bool acs_redirect = false;        ///< switches send traffic between their ports up to the root
  bool write_collapse = false;      ///< posted writes from one switch to several roots collapse
  std::optional<Mover> mover = {};  ///< of plain copies; nothing: as the link model says
};

class Machine {
 public:
  /// Throws Error(bad_input) where two GPUs have no way between them, Error(unsupported) where
  /// the model has no figure for a link.
  Machine(Topology topology, LinkModel model, MachineSettings settings = {});
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;
  ~Machine();

  [[nodiscard]] const Topology& topology() const;
  [[nodiscard]] const LinkModel& model() const;
  [[nodiscard]] const MachineSettings& settings() const;
  [[nodiscard]] int gpus() const;
  [[nodiscard]] std::span<const Resource> resources() const;
  /// The directed link that a resource is; nothing for ports, memories, engines.
  [[nodiscard]] std::optional<LinkId> link_of(ResourceId resource) const;
  [[nodiscard]] const Overheads& overheads() const;

  /// Whether an op of `gpu` reaches into the memory of `peer`: directly, over the network (NICs
  /// do), or as the settings say through the host.
  [[nodiscard]] bool peer_access(int gpu, int peer) const;
  /// Whether data between the two go through the host's memory.
  [[nodiscard]] bool through_host(int gpu, int peer) const;
  /// Who moves a plain copy.
  [[nodiscard]] Mover mover() const;

  /// Reading a byte of `from` by work that runs on `gpu`: the source's memory, the links between.
  /// From its own memory: that memory, once. The reference stays valid. Worked out on first use, so
  /// not for several threads at once.
  [[nodiscard]] const Way& read(Place from, int gpu, Mover mover) const;
  /// Writing one, likewise.
  [[nodiscard]] const Way& write(int gpu, Place to, Mover mover) const;

  /// Vertices and capacities (bytes per second) for bounds: links at their best, nothing else.
  [[nodiscard]] CapacityGraph capacities() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether no plan can tell the two apart: resources, ways, overheads and who moves copies are the
/// same. Of large machines ways are compared between the first GPUs only.
[[nodiscard]] bool act_alike(const Machine& one, const Machine& other);

}  // namespace ringside
