// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/issue.hpp"

#include <algorithm>

#include "ringside/collectives/reduction/cuda/checksum_kernel.hpp"

namespace ringside::cuda {
namespace {

/// A recorded event and what it stands for.
struct Mark {
  Moment moment;
  cudaEvent_t event = nullptr;
};

/// What an operation must come behind, and the event at or after it.
struct Need {
  Point point;
  const Mark* mark;
};

/// For each rank the first one that gave the same stream: they enter and leave together.
std::vector<int> first_of_stream(std::span<const RankCall> ranks, const Streams& streams) {
  std::vector<int> first;
  for (int rank = 0; rank < streams.ranks(); ++rank) {
    const auto is_same = [&](int other) {
      return is_same_stream(ranks[static_cast<std::size_t>(other)].stream, streams.device_of(other),
                            ranks[static_cast<std::size_t>(rank)].stream, streams.device_of(rank));
    };
    int same = 0;
    while (!is_same(same)) ++same;
    first.push_back(same);
  }
  return first;
}

class Issue {
 public:
  Issue(const Program& program, std::span<const RankCall> ranks, Streams& streams, Scratch& scratch,
        const IssueSetting& setting)
      : program_(program),
        ranks_(ranks),
        streams_(streams),
        order_(streams.order),
        scratch_(scratch),
        setting_(setting),
        first_of_stream_(first_of_stream(ranks, streams)),
        operands_(program, ranks, scratch, setting.copies),
        marks_(program.steps.size()) {}

  void run() {
    streams_.begin_call();
    enter();
    mark_earlier_calls();
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      try {
        run_step(i, marks_[i]);
      } catch (const Error& error) {
        throw located(error, program_, step);
      }
    }
    leave();
  }

 private:
  [[nodiscard]] int lane_of(const Step& step) const {
    return static_cast<int>(step.stream) % program_.lanes;
  }
  [[nodiscard]] int number_of(const Step& step) const {
    return streams_.number_of(program_.rank_of(step), lane_of(step));
  }

  // --- order -------------------------------------------------------------------------------------

  Mark record(int rank, cudaStream_t stream, Moment moment) {
    Mark mark{std::move(moment), streams_.event(rank)};
    device_.set(streams_.device_of(rank));
    check(cudaEventRecord(mark.event, stream), "cudaEventRecord", streams_.device_of(rank));
    return mark;
  }

  void wait(int rank, cudaStream_t stream, int number, const Mark& mark) {
    device_.set(streams_.device_of(rank));
    check(cudaStreamWaitEvent(stream, mark.event, 0), "cudaStreamWaitEvent",
          streams_.device_of(rank));
    order_.wait(number, mark.moment);
  }

  /// Waits for what is not implied.
  void wait_for_needed(int rank, cudaStream_t stream, int number, const std::vector<Need>& needs) {
    if (needs.empty()) return;
    std::vector<Moment> moments;
    std::vector<const Moment*> pointers;
    moments.reserve(needs.size());
    for (const Need& need : needs) {
      moments.push_back({need.point, need.mark->moment.clock});
      pointers.push_back(&moments.back());
    }
    for (const Moment* moment : needed_waits(order_, number, pointers))
      wait(rank, stream, number, *needs[static_cast<std::size_t>(moment - moments.data())].mark);
  }

  /// What ranks put in their streams before the call.
  void enter() {
    entered_.resize(ranks_.size());
    if (program_.checks) sum_inputs();
    for (int rank = 0; rank < program_.ranks; ++rank) {
      const RankCall& call = ranks_[static_cast<std::size_t>(rank)];
      const bool is_idle = call.is_idle && !program_.checks;
      if (is_idle || first_of_stream_[static_cast<std::size_t>(rank)] != rank) continue;
      entered_[static_cast<std::size_t>(rank)] =
          record(rank, call.stream, order_.append(streams_.number_of_user(rank)));
    }
  }

  /// Of each lane the end of the calls before, for scratch: now, before this call adds to it.
  void mark_earlier_calls() {
    if (!program_.uses_scratch()) return;
    const int numbers = streams_.ranks() * (1 + program_.lanes);
    earlier_.resize(static_cast<std::size_t>(numbers));
    std::vector<Point> users;
    for (const Step& step : program_.steps) find_conflicts(step, users);
    for (const Point& point : users) {
      if (static_cast<std::size_t>(point.stream) >= earlier_.size())
        earlier_.resize(static_cast<std::size_t>(point.stream) + 1);
      Mark& mark = earlier_[static_cast<std::size_t>(point.stream)];
      if (mark.event != nullptr) continue;
      const int rank = streams_.rank_of(point.stream);
      const int lane = point.stream / streams_.ranks() - 1;
      mark = record(rank, streams_.lane(rank, lane), order_.latest(point.stream));
    }
  }

  template <class Visit>
  void visit_scratch(const Step& step, Visit&& visit) const {
    for (const Run& run : program_.runs_of(step)) {
      const auto addresses = program_.addresses_of(step, run);
      for (std::size_t i = 0; i < addresses.size(); ++i)
        if (!addresses[i].is_users())
          visit(addresses[i], run.elements * program_.element_bytes, i >= step.sources);
    }
  }

  void find_conflicts(const Step& step, std::vector<Point>& points) const {
    visit_scratch(step, [&](const Address& at, std::size_t bytes, bool writes) {
      scratch_.conflicts(at.rank(), at.kind(), at.offset, bytes, writes, points);
    });
  }

  [[nodiscard]] const Mark& entered(int rank) const {
    return entered_[static_cast<std::size_t>(first_of_stream_[static_cast<std::size_t>(rank)])];
  }

  /// Keeps of every mark's points the last: the mark is behind them all.
  static void add(std::vector<Need>& needs, const Need& need) {
    const auto known = std::find_if(needs.begin(), needs.end(),
                                    [&](const Need& other) { return other.mark == need.mark; });
    if (known == needs.end())
      needs.push_back(need);
    else
      known->point.position = std::max(known->point.position, need.point.position);
  }

  /// What a step must come behind beside other steps: what was in the ranks' streams, and earlier
  /// calls.
  void find_outer_needs(const Step& step, std::vector<Need>& needs) {
    if (step.runs == 0) return;
    for (const Address& at : program_.addresses_of(step, program_.runs_of(step).front()))
      if (at.is_users() && entered(at.rank()).event != nullptr)
        add(needs, {entered(at.rank()).moment.point, &entered(at.rank())});
    // Its sums begin at zero behind that.
    if (const int rank = program_.rank_of(step); program_.checks)
      add(needs, {entered(rank).moment.point, &entered(rank)});
    if (earlier_.empty()) return;
    conflicts_.clear();
    find_conflicts(step, conflicts_);
    for (const Point& point : conflicts_)
      if (!order_.is_behind(number_of(step), point))
        add(needs, {point, &earlier_[static_cast<std::size_t>(point.stream)]});
  }

  void run_step(std::size_t i, Mark& mark) {
    const Step& step = program_.steps[i];
    const int rank = program_.rank_of(step);
    const int number = number_of(step);
    cudaStream_t stream = streams_.lane(rank, lane_of(step));
    for (const auto before : program_.waits_of(step)) wait(rank, stream, number, marks_[before]);
    needs_.clear();
    find_outer_needs(step, needs_);
    // In a capture a stream begins behind one that is captured.
    if (setting_.captures && needs_.empty() && order_.latest(number).clock.empty())
      needs_.push_back({entered(rank).moment.point, &entered(rank)});
    wait_for_needed(rank, stream, number, needs_);
    if (program_.checks) add_sums(rank, program_.checks->before(i), stream);
    for (const Run& run : program_.runs_of(step)) execute(step, run, stream);
    if (program_.checks) add_sums(rank, program_.checks->after(i), stream);
    const Moment moment = order_.append(number);
    visit_scratch(step, [&](const Address& at, std::size_t bytes, bool writes) {
      scratch_.note(at.rank(), at.kind(), at.offset, bytes, writes, moment.point);
    });
    if (step.recorded) mark = record(rank, stream, moment);
  }

  void leave() {
    std::vector<std::vector<std::uint32_t>> steps(ranks_.size());  // by first rank of a stream
    for (int rank = 0; rank < program_.ranks; ++rank) {
      const auto& last = program_.leave_steps[static_cast<std::size_t>(rank)];
      auto& all = steps[static_cast<std::size_t>(first_of_stream_[static_cast<std::size_t>(rank)])];
      all.insert(all.end(), last.begin(), last.end());
    }
    for (int rank = 0; rank < program_.ranks; ++rank)
      join(rank, steps[static_cast<std::size_t>(rank)]);
    if (setting_.captures) join_the_rest();
    if (program_.checks) sum_outputs();
  }

  /// A capture ends well only if every stream has been joined.
  void join_the_rest() {
    for (const auto step : program_.last_steps) {
      bool joined = false;
      for (int rank = 0; rank < program_.ranks && !joined; ++rank)
        joined = order_.is_behind(streams_.number_of_user(rank), marks_[step].moment.point);
      const int rank = program_.rank_of(program_.steps[step]);
      if (!joined) join(first_of_stream_[static_cast<std::size_t>(rank)], {step});
    }
  }

  void join(int rank, const std::vector<std::uint32_t>& steps) {
    std::vector<Need> needs;
    for (const auto step : steps) add(needs, {marks_[step].moment.point, &marks_[step]});
    wait_for_needed(rank, ranks_[static_cast<std::size_t>(rank)].stream,
                    streams_.number_of_user(rank), needs);
  }

  // --- checksums ---------------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t* sums_of(int rank) {
    return reinterpret_cast<std::uint64_t*>(
        scratch_.address(rank, Base::scratch) +
        program_.checks->tables[static_cast<std::size_t>(rank)]);
  }
  [[nodiscard]] std::size_t sum_bytes_of(int rank) const {
    return program_.checks->sums[static_cast<std::size_t>(rank)] * sizeof(std::uint64_t);
  }

  void add_sums(int rank, std::span<const Checks::Task> tasks, cudaStream_t stream) {
    device_.set(streams_.device_of(rank));
    for (const Checks::Task& task : tasks)
      check(launch_checksum(operands_.place(task.at), task.bytes, sums_of(rank) + task.sum, stream),
            "kernel launch", streams_.device_of(rank));
  }

  void sum_inputs() {
    for (int rank = 0; rank < program_.ranks; ++rank) {
      if (sum_bytes_of(rank) == 0) continue;
      cudaStream_t stream = ranks_[static_cast<std::size_t>(rank)].stream;
      device_.set(streams_.device_of(rank));
      check(cudaMemsetAsync(sums_of(rank), 0, sum_bytes_of(rank), stream), "cudaMemsetAsync",
            streams_.device_of(rank));
      add_sums(rank, program_.checks->inputs[static_cast<std::size_t>(rank)], stream);
    }
  }

  void sum_outputs() {
    for (int rank = 0; rank < program_.ranks; ++rank) {
      if (sum_bytes_of(rank) == 0) continue;
      cudaStream_t stream = ranks_[static_cast<std::size_t>(rank)].stream;
      add_sums(rank, program_.checks->outputs[static_cast<std::size_t>(rank)], stream);
      check(cudaMemcpyAsync(
                setting_.sums->of(rank, program_.checks->sums[static_cast<std::size_t>(rank)]),
                sums_of(rank), sum_bytes_of(rank), cudaMemcpyDefault, stream),
            "cudaMemcpyAsync", streams_.device_of(rank));
    }
  }

  // --- data --------------------------------------------------------------------------------------

  void execute(const Step& step, const Run& run, cudaStream_t stream) {
    const int device = streams_.device_of(program_.rank_of(step));
    const Operation& operation = operands_.of(step, run);
    device_.set(device);
    // By the addresses: cudaMemcpyPeerAsync does the same and cannot be captured (seen on CUDA 13).
    if (operation.by_engine)
      check(cudaMemcpyAsync(operation.destinations[0], operation.sources[0], operation.bytes,
                            cudaMemcpyDefault, stream),
            "cudaMemcpyAsync", device);
    else
      check(program_.kernels[step.kernel].launch(
                operation.sources.data(), operation.destinations.data(), run.elements, stream),
            "kernel launch", device);
  }

  const Program& program_;
  std::span<const RankCall> ranks_;
  Streams& streams_;
  StreamOrder& order_;
  Scratch& scratch_;
  const IssueSetting& setting_;
  CurrentDevice device_;
  std::vector<int> first_of_stream_;
  Operands operands_;
  std::vector<Mark> marks_;    // by step, of those that are recorded
  std::vector<Mark> entered_;  // by rank
  std::vector<Mark> earlier_;  // by stream: the calls before
  std::vector<Need> needs_;
  std::vector<Point> conflicts_;
};

}  // namespace

void issue(const Program& program, std::span<const RankCall> ranks, Streams& streams,
           Scratch& scratch, const IssueSetting& setting) {
  scratch.reserve(program);
  Issue(program, ranks, streams, scratch, setting).run();
}

}  // namespace ringside::cuda
