// SPDX-License-Identifier: MIT
#include "ringside/bench/cuda/stage.hpp"

#include <algorithm>
#include <limits>
#include <mutex>

#include "ringside/base/clock.hpp"
#include "ringside/base/options.hpp"
#include "ringside/bench/cuda/waiting.hpp"

namespace ringside::bench {
namespace {

/// Events tell half a microsecond (the runtime's documentation of cudaEventElapsedTime), and
/// recording one takes the GPU a few: some per cent of this.
constexpr Seconds event_sample{100e-6};

/// Samples that may still be under way when the host begins another: enough that the GPU has work
/// while the host waits for one to end.
constexpr std::size_t most_ahead = 2;

}  // namespace

/// How many samples a block has. Ranks need not be in step (a root that only sends is ahead of
/// those that receive, and NCCL's calls do not meet on the host), so all run as many as any of them
/// has begun when rank 0 finds that it is time to end.
class GpuStage::AgreedSamples {
 public:
  explicit AgreedSamples(const Block& block) : block_(block), last_(block.samples) {}

  /// Whether the rank makes a sample more, after `done`.
  [[nodiscard]] bool goes_on(int rank, std::int64_t done, Seconds elapsed) {
    const std::lock_guard lock(mutex_);
    if (rank == 0 && done > 0 && block_.limit && elapsed > *block_.limit)
      last_ = std::min(last_, begun_);
    if (done >= last_) return false;
    begun_ = std::max(begun_, done + 1);
    return true;
  }

 private:
  const Block& block_;
  std::mutex mutex_;
  std::int64_t last_, begun_ = 0;
};

/// One rank's part of a block, on its thread.
class GpuStage::TimedRank {
 public:
  TimedRank(GpuStage& stage, Communicator& communicator, const Cell& cell, const Block& block,
            CallOptions options)
      : memory_(*stage.memory_),
        communicator_(communicator),
        block_(block),
        rank_(communicator.rank()),
        device_(memory_.device(rank_)),
        stream_(memory_.stream(rank_)),
        limit_(stage.limit()),
        is_timed_(stage.is_timed_),
        options_(std::move(options)),
        count_(cell.count) {
    options_.stream = stream_;
    const CallShape shape = call_shape(stage.request(cell.placement), rank_, cell.count);
    const auto data = memory_.on_device(rank_, cell.placement, shape, size_of(cell.type));
    arguments_.collective = cell.collective;
    arguments_.input = data.input;
    arguments_.output = data.output;
    if (!is_barrier(cell.collective)) arguments_.blocks = {&count_, 1};
    arguments_.type = cell.type;
    arguments_.op = cell.op;
    arguments_.root = cell.root;
  }
  TimedRank(const TimedRank&) = delete;
  TimedRank& operator=(const TimedRank&) = delete;

  [[nodiscard]] RankTimes run(AgreedSamples& agreed) {
    for (int i = 0; i < block_.lead_in; ++i) call();
    (void)memory_.event(rank_, static_cast<std::size_t>(block_.samples));  // made now, not timed
    communicator_.submit(Arguments{.collective = Collective::barrier}, options_);
    const Stopwatch watch;
    record(0);
    Seconds issue{0};
    std::int64_t done = 0;
    while (agreed.goes_on(rank_, done, watch.elapsed())) {
      if (static_cast<std::size_t>(done) > most_ahead)
        await(static_cast<std::size_t>(done) - most_ahead);
      const Stopwatch calls;
      for (std::int64_t i = 0; i < block_.calls_per_sample; ++i) call();
      issue += calls.elapsed();
      record(static_cast<std::size_t>(++done));
    }
    await(static_cast<std::size_t>(done));
    RankTimes times = is_timed_ ? between_events(static_cast<std::size_t>(done))
                                : equal_parts(static_cast<std::size_t>(done), watch.elapsed());
    times.issue = issue.count();
    return times;
  }

 private:
  void call() { communicator_.submit(arguments_, options_); }

  void record(std::size_t number) {
    cuda::check(cudaEventRecord(memory_.event(rank_, number), stream_), "cudaEventRecord", device_);
  }
  void await(std::size_t number) {
    await_device(memory_.event(rank_, number), limit_, rank_, device_);
  }

  [[nodiscard]] double seconds_between(std::size_t from, std::size_t to) {
    float milliseconds = 0;
    cuda::check(
        cudaEventElapsedTime(&milliseconds, memory_.event(rank_, from), memory_.event(rank_, to)),
        "cudaEventElapsedTime", device_);
    return 1e-3 * static_cast<double>(milliseconds);
  }

  [[nodiscard]] RankTimes between_events(std::size_t samples) {
    RankTimes times;
    for (std::size_t i = 0; i < samples; ++i) times.samples.push_back(seconds_between(i, i + 1));
    times.whole = seconds_between(0, samples);
    return times;
  }

  [[nodiscard]] static RankTimes equal_parts(std::size_t samples, Seconds whole) {
    RankTimes times;
    times.whole = whole.count();
    times.samples.assign(samples, times.whole / static_cast<double>(samples));
    return times;
  }

  GpuMemory& memory_;
  Communicator& communicator_;
  const Block& block_;
  int rank_, device_;
  cudaStream_t stream_;
  Seconds limit_;
  bool is_timed_;
  CallOptions options_;
  std::size_t count_;
  Arguments arguments_;
};

GpuStage::GpuStage(std::shared_ptr<Team> team, const Request& what,
                   std::shared_ptr<GpuMemory> memory, std::optional<Seconds> timeout,
                   StageMode mode, bool is_timed)
    : Stage(std::move(team), what, timeout, std::move(mode)),
      memory_(std::move(memory)),
      is_timed_(is_timed) {}

Seconds GpuStage::limit() const { return timeout().value_or(option<Seconds>("timeout")); }

Seconds GpuStage::shortest_sample() const { return event_sample; }

BlockTimes GpuStage::time(const Cell& cell, const Block& block, const CallOptions& options) {
  std::vector<RankTimes> ranks(static_cast<std::size_t>(team().size()));
  AgreedSamples agreed(block);
  team().each([&](Communicator& communicator) {
    ranks[static_cast<std::size_t>(communicator.rank())] =
        TimedRank(*this, communicator, cell, block, options).run(agreed);
  });
  BlockTimes times;
  times.sample_seconds.resize(ranks.front().samples.size());
  for (const auto& rank : ranks) {
    times.rank_seconds.push_back(rank.whole);
    times.issue_seconds.push_back(rank.issue);
    for (std::size_t i = 0; i < rank.samples.size(); ++i)
      times.sample_seconds[i] = std::max(
          times.sample_seconds[i], rank.samples[i] / static_cast<double>(block.calls_per_sample));
  }
  return times;
}

void GpuStage::run(int rank, const CheckedCall& call, const CallOptions& options) {
  CallOptions of_rank = options;
  of_rank.stream = memory_->stream(rank);
  const bool has_data = call.element_bytes > 0;
  const auto host =
      has_data ? memory_->on_host(rank, call.placement, call.shape, call.element_bytes) : Memory{};
  const auto device = has_data
                          ? memory_->on_device(rank, call.placement, call.shape, call.element_bytes)
                          : Memory{};
  call.write(host);
  if (has_data) memory_->upload(rank, call.placement, call.shape, call.element_bytes);
  call.call(device, of_rank);
  memory_->synchronise(rank, limit());  // a copy to memory that is not pinned waits without limit
  if (has_data) memory_->download(rank, call.placement, call.shape, call.element_bytes);
  memory_->synchronise(rank, limit());
  call.read(host);
}

}  // namespace ringside::bench
