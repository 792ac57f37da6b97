// SPDX-License-Identifier: MIT
/// Flows that share resources, in virtual time.
///
/// A *resource* is anything with a capacity: one direction of a link, the port of a GPU, a memory,
/// a copy engine. A *path* is a set of resources with weights: a flow of rate r on it takes weight
/// x r of each (2 where data cross the same link twice). At every moment the rates are max-min
/// fair: all flows are raised alike until a resource is full, its flows stay there, the others go
/// on (progressive filling; Bertsekas and Gallager, Data Networks, 6.5.2). They are worked out
/// again only where something began or ended.
///
/// Knows resources and flows only, nothing of collectives. Deterministic: what ends at the same
/// moment is told in the order in which it was begun, and results do not depend on anything else.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ringside {

using ResourceId = int;
using PathId = int;

struct Resource {
  std::string name;
  double capacity = std::numeric_limits<double>::infinity();  ///< bytes per second
  /// What is left of the capacity with 1, 2, ... flows on the resource at once (its weights do not
  /// count); the last figure holds for more. Empty: all of it, always. Each in (0, 1], never
  /// rising.
  std::vector<double> efficiency = {};

  bool operator==(const Resource&) const = default;
};

/// A resource that a flow takes `weight` bytes of per byte that it moves.
struct Use {
  ResourceId resource = 0;
  double weight = 1;

  bool operator==(const Use&) const = default;
};

/// What a resource has done so far.
struct ResourceUsage {
  double bytes = 0;      ///< weights applied
  double busy = 0;       ///< seconds with any flow on it
  double saturated = 0;  ///< seconds in which it limited a flow
};

/// For how long a resource has been the limit of a flow.
struct Limit {
  ResourceId resource = 0;
  double seconds = 0;

  bool operator==(const Limit&) const = default;
};

/// What is kept beside the times. Each costs time.
struct FlowAccounts {
  bool limits = false;  ///< per flow: which resource limited it, and for how long
  bool usage = false;   ///< per resource: what it has done
};

class FlowEngine {
 public:
  using Token = std::int64_t;  ///< the caller's name for what it began

  /// Throws Error(invalid_argument) for a capacity that is not above zero or a curve that rises.
  explicit FlowEngine(std::vector<Resource> resources, FlowAccounts accounts = {});
  FlowEngine(FlowEngine&&) noexcept;
  ~FlowEngine();

  /// Several uses of one resource add up; equal paths get equal ids. A path without uses takes no
  /// time. Throws Error(invalid_argument) for a resource that does not exist or a weight not above
  /// 0.
  PathId add_path(std::span<const Use> uses);

  [[nodiscard]] double now() const;  ///< seconds since the engine was made

  /// Moves `bytes` (0: nothing but the delay) over the path, `delay` seconds from now on.
  void start(PathId path, double bytes, double delay, Token token);
  /// Ends `delay` seconds from now.
  void start_timer(double delay, Token token);

  /// Goes to the next moment at which something ends and tells what does. False when nothing is
  /// under way.
  bool advance(std::vector<Token>& ended);

  /// What limited a flow that the last advance() told of; empty without that account.
  [[nodiscard]] std::span<const Limit> limits(Token token) const;
  /// By resource, up to now; empty without that account.
  [[nodiscard]] std::vector<ResourceUsage> usage() const;
  [[nodiscard]] std::span<const Resource> resources() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ringside
