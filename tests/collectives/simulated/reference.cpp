// SPDX-License-Identifier: MIT
#include "reference.hpp"

#include <algorithm>

#include "ringside/collectives/dependencies.hpp"

namespace ringside::tests {
namespace {

/// An op of a slice.
struct Step {
  int op = 0, slice = 0, stream = 0;
  int unmet = 0;
  double ready = 0, end = 0;
  std::vector<int> followers;  // steps
};

class Reference {
 public:
  Reference(const Machine& machine, const Plan& plan, const SimulatedCall& call)
      : machine_(machine),
        plan_(plan),
        call_(call),
        schedule_(make_schedule(plan)),
        engine_({machine.resources().begin(), machine.resources().end()}) {
    const int slices = plan.shape().slices;
    for (int slice = 0; slice < slices; ++slice)
      for (int op = 0; op < size(); ++op)
        steps_.push_back({.op = op,
                          .slice = slice,
                          .stream = schedule_.stream_of[static_cast<std::size_t>(op)],
                          .ready = machine.overheads().call,
                          .followers = {}});
    for (int slice = 0; slice < slices; ++slice)
      for (int op = 0; op < size(); ++op) add_edges(slice * size() + op);
  }

  ReferenceResult run() {
    double end = machine_.overheads().call;
    for (int i = 0; i < static_cast<int>(steps_.size()); ++i)
      if (step(i).unmet == 0) begin(i);
    std::vector<FlowEngine::Token> ended;
    while (engine_.advance(ended))
      for (const auto token : ended) {
        Step& done = step(static_cast<int>(token));
        end = done.end = engine_.now();
        for (const int follower : done.followers) {
          Step& next = step(follower);
          const double signal = next.stream == done.stream ? 0 : machine_.overheads().wait;
          next.ready = std::max(next.ready, done.end + signal);
          if (--next.unmet == 0) begin(follower);
        }
      }
    return {end, engine_.usage()};
  }

 private:
  Step& step(int i) { return steps_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] int size() const { return static_cast<int>(plan_.size()); }

  void follow(int earlier, int later) {
    step(earlier).followers.push_back(later);
    ++step(later).unmet;
  }

  void add_edges(int i) {
    const int op = step(i).op, slice = step(i).slice;
    const auto& queue = schedule_.streams[static_cast<std::size_t>(step(i).stream)];
    const int position = schedule_.position_of[static_cast<std::size_t>(op)];
    if (position > 0)
      follow(slice * size() + queue[static_cast<std::size_t>(position - 1)], i);
    else if (slice > 0)
      follow((slice - 1) * size() + queue.back(), i);
    for (const Wait& wait : schedule_.waits(op))
      if (wait.lag <= slice)
        follow((slice - wait.lag) * size() +
                   schedule_.streams[static_cast<std::size_t>(wait.stream)]
                                    [static_cast<std::size_t>(wait.position)],
               i);
  }

  [[nodiscard]] std::size_t elements(const Op& op, int slice) const {
    const auto parts = static_cast<std::size_t>(plan_.shape().chunks_per_block);
    std::size_t sum = 0;
    for (int chunk = op.chunk(); chunk < op.chunk() + op.count; ++chunk) {
      const auto block = static_cast<std::size_t>(plan_.block_of(chunk));
      const std::size_t length =
          part_of(call_.block_elements[block], parts, static_cast<std::size_t>(chunk) % parts)
              .length;
      sum += part_of(length, static_cast<std::size_t>(plan_.shape().slices),
                     static_cast<std::size_t>(slice))
                 .length;
    }
    return sum;
  }

  [[nodiscard]] Place place(const Location& location) const {
    const bool host = location.buffer == Buffer::scratch &&
                      plan_.scratch(location.rank)[static_cast<std::size_t>(location.slot)].place ==
                          ScratchSlot::Place::host;
    return {call_.gpus[static_cast<std::size_t>(location.rank)], host};
  }

  void begin(int i) {
    const Op op = plan_.op(static_cast<std::size_t>(step(i).op));
    const std::size_t length = elements(op, step(i).slice);
    double delay = std::max(step(i).ready - engine_.now(), 0.0);
    if (length == 0) return engine_.start_timer(delay, i);
    const int gpu = call_.gpus[static_cast<std::size_t>(op.rank)];
    const bool copies = op.sources.size() == 1 && op.destinations.size() == 1;
    const bool by_engine = copies && machine_.mover() == Mover::copy_engine;
    const Mover mover = by_engine ? Mover::copy_engine : Mover::kernel;
    std::vector<Use> uses;
    double read = 0, write = 0;
    for (const auto& from : op.sources) {
      const Way& way = machine_.read(place(from), gpu, mover);
      uses.insert(uses.end(), way.uses.begin(), way.uses.end());
      read = std::max(read, way.latency);
    }
    for (const auto& to : op.destinations) {
      const Way& way = machine_.write(gpu, place(to), mover);
      uses.insert(uses.end(), way.uses.begin(), way.uses.end());
      write = std::max(write, way.latency);
    }
    delay += by_engine ? machine_.overheads().copy_op : machine_.overheads().op;
    engine_.start(engine_.add_path(uses), static_cast<double>(length * call_.element_bytes),
                  delay + read + write, i);
  }

  const Machine& machine_;
  const Plan& plan_;
  const SimulatedCall& call_;
  Schedule schedule_;
  FlowEngine engine_;
  std::vector<Step> steps_;
};

}  // namespace

ReferenceResult reference_simulation(const Machine& machine, const Plan& plan,
                                     const SimulatedCall& call) {
  return Reference(machine, plan, call).run();
}

}  // namespace ringside::tests
