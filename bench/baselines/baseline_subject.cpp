// SPDX-License-Identifier: MIT
#include "ringside/bench/baselines/baseline_subject.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>

#include "ringside/base/threads.hpp"
#include "ringside/bench/baselines/loops.hpp"
#include "ringside/bench/block_timer.hpp"

namespace ringside::bench {
namespace {

using baselines::Stores;

/// One counter per thread, each in its own cache lines. They only grow.
class Progress {
 public:
  /// `crowded`: threads share cores, so whoever waits gives its core away at once.
  Progress(int threads, bool crowded)
      : counters_(static_cast<std::size_t>(threads)), pauses_(crowded ? 4 : 1000) {}

  void advance(int thread) {
    auto& counter = at(thread);
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t of(int thread) { return at(thread).load(std::memory_order_relaxed); }
  void await(int thread, std::uint64_t value) {
    const auto& counter = at(thread);
    for (int i = 0; counter.load(std::memory_order_acquire) < value; ++i) {
      if (i < pauses_)
        cpu_relax();
      else
        ::sched_yield();
    }
  }
  /// Until all have come as often as this thread.
  void meet(int thread) {
    advance(thread);
    const auto value = of(thread);
    for (int other = 0; other < static_cast<int>(counters_.size()); ++other)
      if (other != thread) await(other, value);
  }

 private:
  struct alignas(128) Counter {
    std::atomic<std::uint64_t> value{0};
  };
  std::atomic<std::uint64_t>& at(int thread) {
    return counters_[static_cast<std::size_t>(thread)].value;
  }
  std::vector<Counter> counters_;
  int pauses_;
};

/// The memory of one call, of all ranks.
struct Memory {
  std::vector<const float*> inputs;
  std::vector<float*> outputs;
  std::size_t count;
};

struct Run {
  std::size_t first, length;
};

/// Part `index` of `parts` of `count` elements, in whole cache lines but for the end.
Run run_of(std::size_t count, std::size_t parts, std::size_t index) {
  constexpr std::size_t line = baselines::line_elements;
  const std::size_t share = (count + parts * line - 1) / (parts * line) * line;
  const std::size_t first = std::min(count, share * index);
  return {first, std::min(count, first + share) - first};
}

/// What a thread does in one call.
using Body = std::function<void(int thread, const Memory&, Progress&)>;

void two_shot(int rank, const Memory& memory, Progress& progress, Stores stores) {
  const auto [first, length] =
      run_of(memory.count, memory.outputs.size(), static_cast<std::size_t>(rank));
  progress.meet(rank);  // all inputs are there
  if (length > 0) fold_all(memory.inputs, memory.outputs, first, length, stores);
  progress.meet(rank);  // nobody is at work on this rank's buffers
}

void fused(int thread, int threads, const Memory& memory, Progress& progress, Stores stores) {
  const auto [first, length] =
      run_of(memory.count, static_cast<std::size_t>(threads), static_cast<std::size_t>(thread));
  if (length > 0) fold_all(memory.inputs, memory.outputs, first, length, stores);
  progress.meet(thread);
}

void stream(int thread, int threads, const Memory& memory, Progress& progress, Stores stores) {
  const auto [first, length] =
      run_of(memory.count, static_cast<std::size_t>(threads), static_cast<std::size_t>(thread));
  for (std::size_t rank = 0; rank < memory.outputs.size(); ++rank)
    if (length > 0)
      baselines::pass(memory.inputs[rank] + first, memory.outputs[rank] + first, length, stores);
  progress.meet(thread);
}

/// Step s of the first half: rank r adds its predecessor's chunk r - s - 1 to its own, so that the
/// chunk's sum grows on its way round; of the second half: it copies chunk r - s, which is
/// complete. A rank's counter tells its successor how far it may read. The successor's last read of
/// a rank is awaited at the end: until then the rank's buffers are not its own.
void ring(int rank, const Memory& memory, Progress& progress) {
  const int n = static_cast<int>(memory.outputs.size());
  const int before = (rank + n - 1) % n;
  const int after = (rank + 1) % n;
  const auto mine = static_cast<std::size_t>(rank);
  const auto theirs = static_cast<std::size_t>(before);
  const auto chunk = [&](int index) {
    return run_of(memory.count, static_cast<std::size_t>(n),
                  static_cast<std::size_t>((index + 2 * n) % n));
  };
  if (n == 1) {
    if (memory.inputs[0] != memory.outputs[0] && memory.count > 0)
      std::memcpy(memory.outputs[0], memory.inputs[0], memory.count * sizeof(float));
    return;
  }
  std::uint64_t turn = progress.of(rank);  // the same on all ranks between calls
  progress.advance(rank);
  ++turn;
  for (int step = 0; step < n - 1; ++step, ++turn) {
    const auto [first, length] = chunk(rank - step - 1);
    const float* const from = step == 0 ? memory.inputs[theirs] : memory.outputs[theirs];
    progress.await(before, turn);
    baselines::add(from + first, memory.inputs[mine] + first, memory.outputs[mine] + first, length);
    progress.advance(rank);
  }
  for (int step = 0; step < n - 1; ++step, ++turn) {
    const auto [first, length] = chunk(rank - step);
    progress.await(before, turn);
    std::memcpy(memory.outputs[mine] + first, memory.outputs[theirs] + first,
                length * sizeof(float));
    progress.advance(rank);
  }
  progress.await(after, turn);
}

struct Kind {
  std::string_view name;
  bool per_rank;  ///< a thread per rank, or one per core
  bool sums;      ///< an all-reduce; else its results are none
  Stores stores;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"baseline:ring", true, true, Stores::ordinary},
      {"baseline:two_shot", true, true, Stores::ordinary},
      {"baseline:two_shot-nt", true, true, Stores::streaming},
      {"baseline:fused", false, true, Stores::ordinary},
      {"baseline:fused-nt", false, true, Stores::streaming},
      {"baseline:stream", false, false, Stores::ordinary},
      {"baseline:stream-nt", false, false, Stores::streaming},
  };
  return all;
}

class BaselineSubject final : public Subject {
 public:
  BaselineSubject(const Kind& kind, HostStage& stage, Buffers buffers)
      : kind_(kind),
        stage_(stage),
        buffers_(buffers),
        threads_(kind.per_rank ? ranks() : std::min(ranks(), allowed_cpu_count())),
        progress_(threads_, threads_ > allowed_cpu_count()) {}

  [[nodiscard]] Series describe() const override {
    Series series;
    series.label = kind_.name;
    series.peer = true;
    series.baseline = true;
    series.detail = fmt::format("a loop written by hand, {} threads", threads_);
    series.ranks = ranks();
    return series;
  }

  [[nodiscard]] std::optional<std::string> refusal(const Cell& cell) const override {
    if (cell.collective != Collective::all_reduce) return "loops by hand are all-reduces";
    if (buffers_ == Buffers::cold) return "loops by hand are not timed on cold buffers";
    if (cell.type != ElementType::float32 || cell.op != ReduceOp::sum)
      return "loops by hand add float32 only";
    if (ranks() > 8) return "loops by hand take at most 8 ranks";
    return std::nullopt;
  }

  BlockTimes time(const Cell& cell, const Block& block) override {
    std::vector<std::vector<double>> ends(static_cast<std::size_t>(threads_));
    const Memory memory = memory_of(cell);
    const float one = 1;
    BlockLimit limit(block);
    on_threads([&](int thread) {
      const auto call = [&] { body(thread, memory); };
      for (int i = 0; i < block.lead_in; ++i) call();
      if (block.lead_in == 0) progress_.meet(thread);
      const auto rewrite = [&] {
        for (int rank = thread; rank < ranks(); rank += threads_)
          fill_with(where(rank, cell).input, cell.count, &one, sizeof one);
        progress_.meet(thread);
      };
      const auto goes_on = [&](std::int64_t done, Seconds elapsed) {
        return limit.goes_on(thread, done, elapsed);
      };
      ends[static_cast<std::size_t>(thread)] =
          block.buffers == Buffers::rewritten ? time_prepared_calls(block, rewrite, call, goes_on)
                                              : time_calls(block, call, goes_on);
    });
    return block_times(ends, block);
  }

  std::optional<CheckOutcome> check(const Cell& cell) override {
    if (!kind_.sums) return std::nullopt;
    const CheckedData& data = stage_.checked_data(cell.type, cell.op);
    CheckOutcome outcome;
    outcome.exact_bytes = cell.count * size_of(cell.type);
    for (int rank = 0; rank < ranks(); ++rank) {
      std::memset(where(rank, cell).output, 0xa5, outcome.exact_bytes);
      data.fill(rank, where(rank, cell).input, cell.count);
    }
    const Memory memory = memory_of(cell);
    on_threads([&](int thread) { body(thread, memory); });
    for (int rank = 0; rank < ranks(); ++rank) {
      const auto wrong = data.wrong(rank, where(rank, cell).output, cell.count);
      outcome.wrong += wrong;
      outcome.failed_ranks += wrong > 0 ? 1 : 0;
    }
    return outcome;
  }

 private:
  [[nodiscard]] int ranks() const { return stage_.team().size(); }

  HostStage::Memory where(int rank, const Cell& cell) {
    const auto shape = call_shape(stage_.request(cell.placement), rank, cell.count);
    return stage_.memory(rank, cell.placement, shape, sizeof(float));
  }

  Memory memory_of(const Cell& cell) {
    Memory memory{.inputs = {}, .outputs = {}, .count = cell.count};
    for (int rank = 0; rank < ranks(); ++rank) {
      const auto [input, output] = where(rank, cell);
      memory.inputs.push_back(reinterpret_cast<const float*>(input));
      memory.outputs.push_back(reinterpret_cast<float*>(output));
    }
    return memory;
  }

  template <class Job>
  void on_threads(const Job& job) {
    stage_.team().each([&](Communicator& communicator) {
      if (communicator.rank() < threads_) job(communicator.rank());
    });
  }

  void body(int thread, const Memory& memory) {
    if (kind_.name == "baseline:ring") return ring(thread, memory, progress_);
    if (kind_.per_rank) return two_shot(thread, memory, progress_, kind_.stores);
    if (kind_.sums) return fused(thread, threads_, memory, progress_, kind_.stores);
    stream(thread, threads_, memory, progress_, kind_.stores);
  }

  const Kind& kind_;
  HostStage& stage_;
  Buffers buffers_;
  int threads_;
  Progress progress_;
};

}  // namespace

const std::vector<std::string_view>& baseline_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const auto& kind : kinds()) all.push_back(kind.name);
    return all;
  }();
  return names;
}

std::unique_ptr<Subject> make_baseline(std::string_view name, HostStage& stage, Buffers buffers) {
  for (const auto& kind : kinds())
    if (kind.name == name) return std::make_unique<BaselineSubject>(kind, stage, buffers);
  return nullptr;
}

}  // namespace ringside::bench
