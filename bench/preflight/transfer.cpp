// SPDX-License-Identifier: MIT
#include "ringside/bench/preflight/transfer.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "ringside/base/statistics.hpp"
#include "ringside/bench/preflight/pattern.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/reduction/cuda/device_fold.hpp"

namespace ringside::bench::preflight {
namespace {

using cuda::check;

/// Holds a stream back until everything behind it has been issued: about 1 ms.
constexpr std::uint64_t gate_cycles = 2'000'000;

/// Memory at one end of a flow.
class Memory {
 public:
  Memory(int where, std::size_t bytes)
      : where_(where),
        device_(where == host ? cuda::DeviceMemory() : cuda::DeviceMemory::on(where, bytes)),
        pinned_(where == host ? cuda::PinnedMemory::of(bytes) : cuda::PinnedMemory()),
        bytes_(bytes) {}

  [[nodiscard]] std::byte* data() const { return where_ == host ? pinned_.data() : device_.data(); }
  [[nodiscard]] std::size_t size() const { return bytes_; }

  /// By the host, at once. On a device a pageable copy may return before it has arrived.
  void write(const std::vector<std::byte>& bytes) const {
    if (where_ == host) {
      std::memcpy(data(), bytes.data(), bytes.size());
      return;
    }
    const cuda::DeviceGuard guard(where_);
    check(cudaMemcpy(data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "cudaMemcpy",
          where_);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", where_);
  }

  void read(std::vector<std::byte>& bytes) const {
    if (where_ == host) {
      std::memcpy(bytes.data(), data(), bytes.size());
      return;
    }
    const cuda::DeviceGuard guard(where_);
    check(cudaMemcpy(bytes.data(), data(), bytes.size(), cudaMemcpyDeviceToHost), "cudaMemcpy",
          where_);
  }

  /// Something that is not zero everywhere (moving zeros can be faster): a piece of a pattern, over
  /// and over.
  void fill_for_timing() const {
    constexpr std::size_t piece = std::size_t{1} << 16;
    std::vector<std::byte> bytes(std::min(piece, bytes_));
    Pattern(1).fill(bytes);
    write(bytes);
    for (std::size_t done = bytes.size(); done < bytes_;) {
      const auto next = std::min(done, bytes_ - done);
      double_up(done, next);
      done += next;
    }
    if (where_ == host) return;
    const cuda::DeviceGuard guard(where_);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", where_);
  }

 private:
  void double_up(std::size_t done, std::size_t next) const {
    if (where_ == host) {
      std::memcpy(data() + done, data(), next);
      return;
    }
    const cuda::DeviceGuard guard(where_);
    check(cudaMemcpy(data() + done, data(), next, cudaMemcpyDeviceToDevice), "cudaMemcpy", where_);
  }

  int where_;
  cuda::DeviceMemory device_;
  cuda::PinnedMemory pinned_;
  std::size_t bytes_;
};

cuda::DeviceFold copying_kernel() {
  FoldShape shape;
  shape.type = ElementType::uint64;
  return cuda::resolve_device_fold(shape);
}

/// A flow with its memory and the stream that its copies are issued to.
class Transfer {
 public:
  /// `margin` bytes before and after the payload belong to the destination as well.
  Transfer(const Flow& flow, Method method, std::size_t payload, std::size_t margin)
      : flow_(flow),
        method_(method),
        executor_(executor_of(flow, method)),
        margin_(margin),
        source(flow.source, payload),
        destination(flow.destination, payload + 2 * margin),
        stream_(cuda::Stream::on(executor_)) {
    if (method == Method::kernel_store || method == Method::kernel_load) kernel_ = copying_kernel();
  }

  [[nodiscard]] int executor() const { return executor_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }

  void enqueue(std::size_t bytes) const {
    auto* const to = destination.data() + margin_;
    const auto* const from = source.data();
    const cuda::DeviceGuard guard(executor_);
    switch (method_) {
      case Method::peer_copy:
        return check(
            cudaMemcpyPeerAsync(to, flow_.destination, from, flow_.source, bytes, stream()),
            "cudaMemcpyPeerAsync", executor_);
      case Method::kernel_store:
      case Method::kernel_load:
        return check(kernel_.launch(&from, &to, bytes / sizeof(std::uint64_t), stream()),
                     "a copying kernel", executor_);
      case Method::host_copy:
        return check(
            cudaMemcpyAsync(to, from, bytes,
                            flow_.source == host ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                            stream()),
            "cudaMemcpyAsync", executor_);
    }
  }

  void synchronize() const {
    check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize", executor_);
  }

 private:
  static int executor_of(const Flow& flow, Method method) {
    if (flow.source == host || method == Method::kernel_load) return flow.destination;
    return flow.source;
  }

  Flow flow_;
  Method method_;
  int executor_;
  std::size_t margin_;

 public:
  Memory source, destination;

 private:
  cuda::Stream stream_;
  cuda::DeviceFold kernel_;
};

using Transfers = std::vector<std::unique_ptr<Transfer>>;

Transfers transfers_of(const Step& step, std::size_t payload, std::size_t margin) {
  Transfers transfers;
  for (const auto& flow : step.flows)
    transfers.push_back(std::make_unique<Transfer>(flow, step.method, payload, margin));
  return transfers;
}

void synchronize(const Transfers& transfers) {
  for (const auto& transfer : transfers) transfer->synchronize();
}

/// The tags of a try: what stands before in every destination, and what each flow sends.
struct Tags {
  static constexpr std::uint32_t stride = most_tags / 4;  // flows fit in between
  std::uint32_t attempt;

  [[nodiscard]] Pattern background() const { return Pattern(attempt * stride); }
  [[nodiscard]] Pattern sent(std::size_t flow) const {
    return Pattern(attempt * stride + 1 + static_cast<std::uint32_t>(flow));
  }
  /// The flow of a tag; of a background one that no step has.
  [[nodiscard]] static std::uint32_t flow_of(std::uint32_t tag) {
    return std::min(tag % stride - 1, most_tags);
  }
};

/// Before a try: sources and destinations are written by the host, and nothing is under way.
void prepare(const Transfers& transfers, const Tags& tags) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    bytes.resize(transfers[i]->source.size());
    tags.sent(i).fill(bytes);
    transfers[i]->source.write(bytes);
    bytes.resize(transfers[i]->destination.size());
    tags.background().fill(bytes);
    transfers[i]->destination.write(bytes);
  }
}

Verdict verdict_of(const Transfer& transfer, const Tags& tags, std::size_t flow) {
  std::vector<std::byte> region(transfer.destination.size());
  transfer.destination.read(region);
  auto verdict = judge(region, tags.sent(flow), tags.background());
  if (verdict.arrival == Arrival::misplaced)
    verdict.foreign_tag = Tags::flow_of(verdict.foreign_tag);
  return verdict;
}

/// Events of a flow around what is timed.
struct Bracket {
  explicit Bracket(const Transfer& transfer)
      : begin(cuda::Event::timed_on(transfer.executor())),
        end(cuda::Event::timed_on(transfer.executor())) {}

  [[nodiscard]] Seconds elapsed() const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime",
          begin.device());
    return Seconds(static_cast<double>(milliseconds) * 1e-3);
  }

  cuda::Event begin, end;
};

void record(const cuda::Event& event, const Transfer& transfer) {
  check(cudaEventRecord(event.get(), transfer.stream()), "cudaEventRecord", transfer.executor());
}

/// All streams wait for a kernel in the first, so that the host's issuing is not what is timed, and
/// all begin together.
class Gate {
 public:
  explicit Gate(const Transfers& transfers)
      : transfers_(transfers), open_(cuda::Event::on(transfers.front()->executor())) {}

  void close() const {
    const auto& first = *transfers_.front();
    {
      const cuda::DeviceGuard guard(first.executor());
      check(cuda::launch_spin(gate_cycles, first.stream()), "a waiting kernel", first.executor());
    }
    record(open_, first);
    for (const auto& transfer : transfers_)
      check(cudaStreamWaitEvent(transfer->stream(), open_.get(), 0), "cudaStreamWaitEvent",
            transfer->executor());
  }

 private:
  const Transfers& transfers_;
  cuda::Event open_;
};

/// `repeats` copies of every flow, all flows at once: the time of one copy of each.
std::vector<Seconds> sample(const Transfers& transfers, std::size_t bytes, int repeats,
                            const std::function<void()>& meanwhile = nullptr) {
  std::vector<Bracket> brackets;
  for (const auto& transfer : transfers) brackets.emplace_back(*transfer);
  const Gate gate(transfers);
  gate.close();
  for (std::size_t i = 0; i < transfers.size(); ++i) record(brackets[i].begin, *transfers[i]);
  for (int repeat = 0; repeat < repeats; ++repeat)
    for (const auto& transfer : transfers) transfer->enqueue(bytes);
  for (std::size_t i = 0; i < transfers.size(); ++i) record(brackets[i].end, *transfers[i]);
  if (meanwhile) meanwhile();
  synchronize(transfers);
  std::vector<Seconds> times;
  for (const auto& bracket : brackets) times.push_back(bracket.elapsed() / repeats);
  return times;
}

Seconds longest(const std::vector<Seconds>& times) {
  return *std::max_element(times.begin(), times.end());
}

/// Medians over samples, flow by flow.
Outcome medians(const std::vector<std::vector<Seconds>>& samples, std::uint64_t bytes) {
  Outcome outcome;
  outcome.bytes = bytes;
  outcome.samples = static_cast<int>(samples.size());
  std::vector<double> values(samples.size());
  const auto median_of = [&](const auto& value) {
    std::transform(samples.begin(), samples.end(), values.begin(), value);
    return Seconds(median(values));
  };
  for (std::size_t flow = 0; flow < samples.front().size(); ++flow)
    outcome.times.push_back(median_of([&](const auto& times) { return times[flow].count(); }));
  outcome.together = median_of([](const auto& times) { return longest(times).count(); });
  return outcome;
}

}  // namespace

Outcome check_transfers(const Step& step) {
  constexpr std::uint32_t attempts = 2;
  const auto transfers = transfers_of(step, step.bytes, guard_bytes);
  Outcome outcome;
  outcome.bytes = step.bytes;
  outcome.verdicts.resize(transfers.size());
  for (std::uint32_t attempt = 0; attempt < attempts; ++attempt) {
    const Tags tags{attempt};
    prepare(transfers, tags);
    for (const auto& transfer : transfers) transfer->enqueue(step.bytes);
    synchronize(transfers);
    for (std::size_t i = 0; i < transfers.size(); ++i)
      if (outcome.verdicts[i].arrival == Arrival::right)
        outcome.verdicts[i] = verdict_of(*transfers[i], tags, i);
  }
  return outcome;
}

Outcome time_chain(const Step& step) {
  // As many as an issuing thread gets done while the gate is closed, at some 5 us each.
  constexpr int links = 64, chains = 11;
  const auto transfers = transfers_of(step, step.bytes, 0);
  for (const auto& transfer : transfers) transfer->source.fill_for_timing();
  (void)sample(transfers, step.bytes, links);
  std::vector<std::vector<Seconds>> samples;
  for (int chain = 0; chain < chains; ++chain)
    samples.push_back(sample(transfers, step.bytes, links));
  return medians(samples, step.bytes);
}

Outcome time_transfers(const Step& step, std::uint64_t bytes,
                       const std::function<void()>& meanwhile) {
  constexpr std::uint64_t first_bytes = std::uint64_t{16} << 20, unit = std::uint64_t{1} << 20;
  constexpr int sample_count = 3, most_repeats = 64;
  const auto transfers = transfers_of(step, bytes, 0);
  for (const auto& transfer : transfers) transfer->source.fill_for_timing();
  const auto tried = std::min(bytes, first_bytes);
  (void)sample(transfers, tried, 1);  // the first may set something up
  const double copies_in_time = step.time / longest(sample(transfers, tried, 1));
  const double wanted =
      std::min(copies_in_time * static_cast<double>(tried), static_cast<double>(bytes));
  const auto used =
      std::clamp(static_cast<std::uint64_t>(wanted) / unit * unit, std::min(unit, bytes), bytes);
  const double repeats = copies_in_time * static_cast<double>(tried) / static_cast<double>(used);
  std::vector<std::vector<Seconds>> samples;
  for (int i = 0; i < sample_count; ++i)
    samples.push_back(sample(transfers, used,
                             static_cast<int>(std::clamp(repeats, 1.0, double{most_repeats})),
                             i + 1 == sample_count ? meanwhile : nullptr));
  return medians(samples, used);
}

}  // namespace ringside::bench::preflight
