// SPDX-License-Identifier: MIT
/// The ring. Chunk c of n starts at rank c. In step s of the first half rank r sends chunk r - s, a
/// sum of s + 1 ranks, to its successor's slot, where it is added; then rank r has all of chunk r +
/// 1, and the second half passes finished chunks on.
#include "ringside/tests/fakecuda/ring.hpp"

#include <numeric>

#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakecuda/test_kernels.hpp"

namespace ringside::tests::fakecuda {
namespace {

/// Remembers the first error.
class Calls {
 public:
  bool operator()(cudaError_t error) {
    if (error_ == cudaSuccess) error_ = error;
    return error == cudaSuccess;
  }
  [[nodiscard]] cudaError_t error() const { return error_; }

 private:
  cudaError_t error_ = cudaSuccess;
};

struct Rank {
  int device = 0;
  std::int32_t* data = nullptr;
  std::int32_t* slot = nullptr;
  cudaStream_t copies = nullptr, sums = nullptr;
  cudaEvent_t copied = nullptr;  ///< what the rank sent last has arrived
  cudaEvent_t summed = nullptr;  ///< what arrived last has been added
  cudaEvent_t begun = nullptr;   ///< a call may use the rank's memory
};

class Ring {
 public:
  explicit Ring(const RingRun& run) : run_(run), ranks_(static_cast<std::size_t>(run.ranks)) {}

  RingResult go() {
    RingResult result;
    if (set_up()) {
      if (run_.graph)
        run_as_graph();
      else
        for (int call = 0; call < run_.calls && ok(); ++call) issue();
      if (ok()) result.wrong = check();
    }
    result.error = calls_.error();
    tear_down();
    return result;
  }

 private:
  [[nodiscard]] bool ok() const { return calls_.error() == cudaSuccess; }
  [[nodiscard]] std::size_t count() const { return run_.elements; }
  [[nodiscard]] Rank& at(int rank) {
    return ranks_[static_cast<std::size_t>((rank + run_.ranks) % run_.ranks)];
  }
  [[nodiscard]] std::size_t chunk_begin(int chunk) const {
    const int n = run_.ranks;
    return count() * static_cast<std::size_t>(((chunk % n) + n) % n) / static_cast<std::size_t>(n);
  }
  [[nodiscard]] std::size_t chunk_size(int chunk) const {
    const int n = run_.ranks;
    const int c = ((chunk % n) + n) % n;
    return count() * static_cast<std::size_t>(c + 1) / static_cast<std::size_t>(n) - chunk_begin(c);
  }
  static std::int32_t start_value(int rank, std::size_t i) {
    return static_cast<std::int32_t>(1000 * rank + static_cast<int>(i));
  }

  template <class T>
  static void** address(T*& pointer) {
    return reinterpret_cast<void**>(&pointer);
  }

  bool set_up() {
    for (int a = 0; a < run_.devices && ok(); ++a) {
      calls_(cudaSetDevice(a));
      for (int b = 0; b < run_.devices && ok(); ++b)
        if (a != b) calls_(cudaDeviceEnablePeerAccess(b, 0));
    }
    for (int r = 0; r < run_.ranks && ok(); ++r) {
      Rank& rank = at(r);
      rank.device = r % run_.devices;
      std::vector<std::int32_t> values(count());
      for (std::size_t i = 0; i < count(); ++i) values[i] = start_value(r, i);
      const bool made = calls_(cudaSetDevice(rank.device)) &&
                        calls_(cudaMalloc(address(rank.data), count() * sizeof(std::int32_t))) &&
                        calls_(cudaMalloc(address(rank.slot), (chunk_size(run_.ranks - 1) + 1) *
                                                                  sizeof(std::int32_t))) &&
                        calls_(cudaStreamCreateWithFlags(&rank.copies, cudaStreamNonBlocking)) &&
                        calls_(cudaStreamCreateWithFlags(&rank.sums, cudaStreamNonBlocking)) &&
                        calls_(cudaEventCreateWithFlags(&rank.copied, cudaEventDisableTiming)) &&
                        calls_(cudaEventCreateWithFlags(&rank.summed, cudaEventDisableTiming)) &&
                        calls_(cudaEventCreateWithFlags(&rank.begun, cudaEventDisableTiming));
      if (made)
        calls_(cudaMemcpy(rank.data, values.data(), count() * sizeof(std::int32_t),
                          cudaMemcpyHostToDevice)) &&
            calls_(cudaDeviceSynchronize());
    }
    return ok();
  }

  void tear_down() {
    Calls ignored;
    if (graph_executable_ != nullptr) calls_(cudaGraphExecDestroy(graph_executable_));
    if (graph_ != nullptr) calls_(cudaGraphDestroy(graph_));
    for (Rank& rank : ranks_) {
      ignored(cudaSetDevice(rank.device));
      if (!ok()) ignored(cudaDeviceSynchronize());  // what was issued before the error still runs
    }
    for (Rank& rank : ranks_) {
      ignored(cudaSetDevice(rank.device));
      for (cudaEvent_t event : {rank.copied, rank.summed, rank.begun})
        if (event != nullptr) ignored(cudaEventDestroy(event));
      for (cudaStream_t stream : {rank.copies, rank.sums})
        if (stream != nullptr) ignored(cudaStreamDestroy(stream));
      if (rank.data != nullptr) ignored(cudaFree(rank.data));
      if (rank.slot != nullptr) ignored(cudaFree(rank.slot));
    }
    (void)ignored;
  }

  bool wait(cudaStream_t stream, cudaEvent_t event) {
    return ok() && calls_(cudaStreamWaitEvent(stream, event, 0));
  }

  bool send(int r, std::int32_t* to, int chunk) {
    Rank& from = at(r);
    const std::size_t bytes = chunk_size(chunk) * sizeof(std::int32_t);
    return ok() && calls_(cudaSetDevice(from.device)) &&
           calls_(cudaMemcpyAsync(to, from.data + chunk_begin(chunk), bytes, cudaMemcpyDefault,
                                  from.copies)) &&
           calls_(cudaEventRecord(from.copied, from.copies));
  }

  /// All copies and sums of one step of the first half.
  void reduce_step(int s) {
    const bool early = run_.bug == Bug::wait_before_record;
    for (int r = 0; r < run_.ranks && ok(); ++r)
      if (early) wait(at(r + 1).sums, at(r).copied);
    for (int r = 0; r < run_.ranks && ok(); ++r) {
      if (s > 0 && run_.bug != Bug::send_before_reduce) wait(at(r).copies, at(r).summed);
      if (s > 0 && run_.bug != Bug::slot_overwritten) wait(at(r).copies, at(r + 1).summed);
      send(r, at(r + 1).slot, r - s);
    }
    for (int r = 0; r < run_.ranks && ok(); ++r) {
      Rank& rank = at(r);
      if (!early && run_.bug != Bug::reduce_before_arrival) wait(rank.sums, at(r - 1).copied);
      const int chunk = r - 1 - s;
      std::int32_t* data = rank.data + chunk_begin(chunk);
      const bool elsewhere = run_.bug == Bug::wrong_device && r == 1;
      ok() && calls_(cudaSetDevice(elsewhere ? at(r + 1).device : rank.device)) &&
          calls_(launch_add({data, data, rank.slot, chunk_size(chunk)}, rank.sums)) &&
          calls_(cudaEventRecord(rank.summed, rank.sums));
    }
  }

  void issue() {
    const int n = run_.ranks;
    if (run_.bug != Bug::reuse_between_calls) {
      for (int r = 0; r < n && ok(); ++r) calls_(cudaEventRecord(at(r).begun, at(r).sums));
      for (int r = 0; r < n && ok(); ++r)
        wait(at(r).copies, at(r).begun) && wait(at(r).copies, at(r + 1).begun);
    }
    for (int s = 0; s + 1 < n && ok(); ++s) reduce_step(s);
    for (int r = 0; r < n && ok(); ++r) wait(at(r).copies, at(r).summed);
    for (int s = 0; s + 1 < n && ok(); ++s) {
      // Two loops: waits for what arrived in the last step, before this step records anew.
      for (int r = 0; s > 0 && r < n && ok(); ++r) wait(at(r).copies, at(r - 1).copied);
      for (int r = 0; r < n && ok(); ++r)
        send(r, at(r + 1).data + chunk_begin(r + 1 - s), r + 1 - s);
    }
    // The sums' stream is the user's: behind it all of the call is over.
    for (int r = 0; r < n && ok(); ++r) {
      if (run_.bug != Bug::host_reads_early) wait(at(r).sums, at(r - 1).copied);
      wait(at(r).sums, at(r).copied);
    }
  }

  /// All calls in one graph, captured from rank 0's stream.
  void run_as_graph() {
    Rank& first = at(0);
    calls_(cudaStreamBeginCapture(first.sums, cudaStreamCaptureModeThreadLocal));
    if (!ok()) return;
    calls_(cudaEventRecord(first.begun, first.sums));
    for (int r = 0; r < run_.ranks && ok(); ++r) {
      wait(at(r).copies, first.begun);
      if (r > 0) wait(at(r).sums, first.begun);
    }
    for (int call = 0; call < run_.calls && ok(); ++call) issue();
    for (int r = 0; r < run_.ranks && ok(); ++r) {
      calls_(cudaEventRecord(at(r).copied, at(r).copies)) && wait(first.sums, at(r).copied);
      if (r > 0)
        calls_(cudaEventRecord(at(r).summed, at(r).sums)) && wait(first.sums, at(r).summed);
    }
    if (ok() && run_.bug == Bug::unjoined_capture)
      calls_(cudaMemsetAsync(at(1).slot, 0, sizeof(std::int32_t), at(1).sums));
    const cudaError_t before = calls_.error();
    calls_(cudaStreamEndCapture(first.sums, &graph_));
    if (before != cudaSuccess || !ok()) return;
    calls_(cudaGraphInstantiate(&graph_executable_, graph_, 0)) &&
        calls_(cudaGraphLaunch(graph_executable_, first.sums));
    if (run_.bug != Bug::host_reads_early) calls_(cudaStreamSynchronize(first.sums));
  }

  int check() {
    int wrong = 0;
    std::vector<std::int32_t> expected(count());
    for (std::size_t i = 0; i < count(); ++i)
      for (int r = 0; r < run_.ranks; ++r) expected[i] += start_value(r, i);
    // Each call adds up the ranks' equal results.
    std::int32_t factor = 1;
    for (int call = 1; call < run_.calls; ++call) factor *= run_.ranks;
    for (int r = 0; r < run_.ranks && ok(); ++r) {
      Rank& rank = at(r);
      std::vector<std::int32_t> values(count());
      const bool forgotten = run_.graph && run_.bug == Bug::host_reads_early;
      calls_(cudaSetDevice(rank.device)) &&
          (forgotten || calls_(cudaStreamSynchronize(rank.sums))) &&
          calls_(cudaMemcpy(values.data(), rank.data, count() * sizeof(std::int32_t),
                            cudaMemcpyDeviceToHost));
      for (std::size_t i = 0; i < count(); ++i) wrong += values[i] != expected[i] * factor ? 1 : 0;
    }
    return wrong;
  }

  RingRun run_;
  Calls calls_;
  std::vector<Rank> ranks_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t graph_executable_ = nullptr;
};

}  // namespace

RingResult run_ring(const RingRun& run) { return Ring(run).go(); }

}  // namespace ringside::tests::fakecuda
