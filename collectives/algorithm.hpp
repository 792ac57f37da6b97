// SPDX-License-Identifier: MIT
/// What an algorithm is, and the registry that finds one by its spec string.
///
/// To add one, write a coroutine over a Group (builder.hpp) and register it:
///
///     ringside::register_algorithm({
///         .name = "star",
///         .summary = "every rank's data added at rank 0, then copied back",
///         .make = [](const Request&, const Parameters&) {
///           return ringside::Algorithm{.chunks = 1, .write = star};
///         }});
///
/// From then on "star" works wherever a spec string does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/collectives/builder.hpp"
#include "ringside/collectives/plan.hpp"
#include "ringside/collectives/spec.hpp"

namespace ringside {

/// The most lanes that an algorithm may have, and that the parameter `lanes` may ask for.
inline constexpr int most_lanes = 16;
/// The most that the parameter `slices` may ask for.
inline constexpr int most_slices = 4096;

/// An all-reduce told as two halves: after `reduce` the complete value of chunk c is the running
/// value of rank owner(c); `spread` brings it to everybody. What a hierarchical algorithm needs to
/// put another one between the halves.
struct Halves {
  std::function<int(int chunk)> owner;    ///< a rank and a chunk of the group
  std::function<OpStream(Group)> reduce;  ///< leaves complete values with the owners
  std::function<OpStream(Group)> spread;  ///< begins from the owners' running values
};

/// An algorithm made for one request: its parameters are settled, its ops not yet written.
///
/// `write` is called with a group of the request's ranks and `chunks` chunks per block. It must be
/// deterministic, and it is never called for one rank alone (that is a copy).
struct Algorithm {
  int chunks = 1;  ///< chunks that each block is cut in
  int lanes = 1;   ///< lanes it tells apart (Group::on_lane), at most most_lanes
  /// Lanes where the call is not sliced: more than one only if parts of it run side by side anyway
  /// (two rings). Lane l is then lane l mod this.
  int unsliced_lanes = 1;
  std::function<OpStream(Group)> write;
  std::optional<Halves> halves = std::nullopt;  ///< where it can serve as one level of others
  bool writes_halves = false;                   ///< `write` is the two halves one after another

  /// Writes `halves.reduce`, then `halves.spread`.
  [[nodiscard]] static Algorithm of_halves(int chunks, int lanes, Halves halves);
};

/// A registered algorithm: its name, what it takes, and how one is made for a request.
struct AlgorithmInfo {
  std::string name;                                                ///< letters, digits and '_'
  std::string summary;                                             ///< one line
  std::string reference = {};                                      ///< the paper
  std::vector<ParameterInfo> parameters = {};                      ///< beside the common ones
  std::vector<Collective> collectives = {Collective::all_reduce};  ///< that `make` is asked for
  std::string origin = {};  ///< the file of a plug-in; else empty
  /// Throws Error(unsupported) with the reason where the request cannot be served, and
  /// Error(bad_input) for parameters that make no sense.
  std::function<Algorithm(const Request&, const Parameters&)> make;
};

/// Parameters that every algorithm takes: slices, lanes, depth.
[[nodiscard]] std::span<const ParameterInfo> common_parameters();

/// Adds an algorithm. Throws Error(invalid_argument) if the name is taken, reserved (auto, all) or
/// no name, or if a parameter is there twice or is one of the common ones. Safe to call from any
/// thread; algorithms are never removed.
void register_algorithm(AlgorithmInfo info);

/// Adds all of them, or throws as register_algorithm does and adds none.
void register_algorithms(std::vector<AlgorithmInfo> infos);

/// All registered algorithms, built-ins first, in a fixed order. The references stay valid. Loads
/// the plug-ins that the option `plugins` names first, and throws as load_plugin does
/// (plugin/plugin.hpp).
[[nodiscard]] std::vector<std::reference_wrapper<const AlgorithmInfo>> registered_algorithms();

/// The one of this name. Throws Error(bad_input) naming the nearest one otherwise, and for a plan
/// file, which is no algorithm.
[[nodiscard]] const AlgorithmInfo& find_algorithm(std::string_view name);

/// Checks the spec's name and parameter names and makes the algorithm for a request.
/// Throws Error(bad_input) or Error(unsupported), and Error(invalid_argument) if what was
/// registered makes no algorithm: without chunks or lanes, or with nothing that writes it.
[[nodiscard]] Algorithm make_algorithm(const Spec& spec, const Request& request);

/// The ops that a spec names, one at a time: for consumers that pull. Those of our own algorithms
/// are never stored (a ring of 4,096 ranks has 33 million ops), those of plan files are.
class PlanStream {
 public:
  /// Throws as make_algorithm does, and for a plan file as plan_of_file does (plan_file.hpp).
  PlanStream(const Spec& spec, const Request& request);
  PlanStream(PlanStream&&) noexcept;
  ~PlanStream();

  [[nodiscard]] const Request& request() const;
  /// How data are cut, and the lanes; known before the first op.
  [[nodiscard]] const Shape& shape() const;
  /// The canonical spec string.
  [[nodiscard]] const std::string& spec() const;
  /// The next op in listed order, or null. Valid until the next call.
  const Op* next();
  /// Scratch slots asked for so far, [rank][slot]; complete once next() has returned null.
  [[nodiscard]] const std::vector<std::vector<ScratchSlot>>& slots() const;

 private:
  struct State;
  struct Written;
  struct Read;
  std::unique_ptr<State> state_;
};

/// The whole plan, stored. The spec string in it is canonical: parameters in their declared order;
/// of a plan file its path. Throws as parse_spec and PlanStream do.
[[nodiscard]] Plan make_plan(std::string_view spec, const Request& request);
/// The same of a spec that has been read.
[[nodiscard]] Plan make_plan(const Spec& spec, const Request& request);

}  // namespace ringside
