// SPDX-License-Identifier: MIT
/// Runs the ops of a source in virtual time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/executors/simulated/causes.hpp"
#include "ringside/collectives/executors/simulated/conflicts.hpp"
#include "ringside/collectives/executors/simulated/op_source.hpp"
#include "ringside/collectives/executors/simulated/routes.hpp"
#include "ringside/collectives/executors/simulated/simulate.hpp"
#include "ringside/collectives/executors/simulated/slice_bytes.hpp"
#include "ringside/topology/network/flow_engine.hpp"

namespace ringside::simulated {

/// One simulation. Ops are pulled only as far as needed: before time goes on every stream has one
/// that has not ended, unless it has none left. So what is decided does not depend on how far that
/// is, and only what is under way takes memory.
class Execution {
 public:
  /// `call.gpus` has a GPU for each rank. All must outlive it.
  Execution(const Machine& machine, OpSource& source, const SimulatedCall& call,
            const SimulationWanted& wanted);

  /// Nothing if an op does what the machine cannot do directly: then the plan must be lowered.
  [[nodiscard]] std::optional<Simulation> run();

 private:
  static constexpr int none = -1;
  /// An op that has been pulled and is still needed.
  struct Live {
    std::uint64_t index = 0;
    int slice = 0, rank = 0, lane = 0;
    std::size_t stream = 0;
    const Route* route = nullptr;
    double bytes = 0;
    int waits_for = 0;                 ///< ops that have not ended
    double ready = 0;                  ///< so far: when the last of those that have is seen to have
    double cause_end = 0;              ///< when that one ended
    Causes::Id cause = Causes::start;  ///< that one
    Causes::Id record = Causes::start;  ///< this one, once it has ended
    bool has_ended = false;
    double end = 0;
    int next_in_stream = none;
    int first_dependent = none, newest_dependent = none;
  };
  struct Stream {
    int first = none, last = none;  ///< ops that have not ended
    std::uint64_t pulled = 0;
    double end = 0;  ///< of the last that has
    Causes::Id record = Causes::start;
  };
  struct Dependent {
    int op = none, next = none;
  };

  Live& live(int id) { return live_[static_cast<std::size_t>(id)]; }

  void fill();
  bool pull();
  void take(const Op& op);
  [[nodiscard]] int new_live();
  void follow_stream(int id);
  void follow_conflicts(int id, const Op& op);
  void add_dependent(int of, int id);
  void begin(int id);
  void end_op(int id);
  void tell_dependents(int id);
  void seen_to_end(Live& waiting, double end, double seen, Causes::Id record);
  void note_end(int id);
  void settle();
  void retire();
  void learn_counts(std::vector<std::uint64_t> of_slice);
  [[nodiscard]] bool is_hungry(const Stream& stream) const;
  [[nodiscard]] std::optional<ResourceId> limit_of(int id) const;
  [[nodiscard]] Simulation result();

  const Overheads& overheads_;
  const SimulationWanted& wanted_;
  OpSource& source_;
  FlowEngine engine_;
  Routes routes_;
  Conflicts conflicts_;
  SliceBytes slice_bytes_;
  Causes causes_;

  std::vector<Stream> streams_;
  std::vector<std::uint64_t> ops_of_slice_;  // by stream, once known
  std::size_t hungry_ = 0;                   // streams that need an op before time goes on
  bool exhausted_ = false;
  bool unreached_ = false;  // some op's memory is out of its GPU's reach

  std::vector<Live> live_;
  std::vector<std::string> words_;  // of each of them, for the timeline
  std::vector<int> free_;
  std::vector<Dependent> dependents_;
  std::vector<int> free_dependents_;
  std::vector<int> instant_;  // ops without bytes that end now
  std::deque<int> ended_;     // not yet seen by other streams, in the order of their ends
  std::vector<int> before_;
  std::vector<FlowEngine::Token> tokens_;

  double end_ = 0;  // of the last op
  Causes::Id last_ = Causes::start;
  Simulation result_;
};

}  // namespace ringside::simulated
