// SPDX-License-Identifier: MIT
#include "ringside/bench/probe.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <mutex>
#include <thread>

#include "ringside/base/clock.hpp"
#include "ringside/base/threads.hpp"

namespace ringside::bench {

/// The line, and how the two players are woken.
class PingPong::Table {
 public:
  Table(int core, int other_core)
      : server_([this, core] { play(core, 0); }),
        returner_([this, other_core] { play(other_core, 1); }) {}
  ~Table() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    begins_.notify_all();
    server_.join();
    returner_.join();
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  double one_way() {
    std::unique_lock lock(mutex_);
    ++number_;
    at_play_ = 2;
    begins_.notify_all();
    ends_.wait(lock, [this] { return at_play_ == 0; });
    return best_;
  }

 private:
  struct alignas(128) Line {
    std::atomic<std::uint32_t> ball{0};
  };

  /// A neighbour that takes a core spoils some of the batches, but hardly all.
  static constexpr int batches = 8;
  static constexpr std::uint32_t round_trips = 40;

  void play(int core, std::uint32_t side) {
    pin_current_thread(core);
    int done = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      begins_.wait(lock, [&] { return over_ || number_ != done; });
      if (over_) return;
      done = number_;
      lock.unlock();
      const double best = side == 0 ? serve() : (return_all(), 0.0);
      lock.lock();
      if (side == 0) best_ = best;
      if (--at_play_ == 0) ends_.notify_all();
    }
  }

  /// Waits without pausing: a pause is as long as a fast line takes. (A player that has lost its
  /// core comes back: no limit.)
  static void await(const Line& line, std::uint32_t value) {
    while (line.ball.load(std::memory_order_acquire) != value) {
    }
  }

  double serve() {
    double best = std::numeric_limits<double>::infinity();
    for (int batch = 0; batch < batches; ++batch) {
      const Stopwatch watch;
      for (std::uint32_t i = 0; i < round_trips; ++i) {
        served_.ball.store(++ball_, std::memory_order_release);
        await(returned_, ball_);
      }
      best = std::min(best, watch.elapsed().count() / (2.0 * round_trips));
    }
    return best;
  }

  void return_all() {
    for (std::uint32_t i = 0; i < batches * round_trips; ++i) {
      await(served_, ++expected_);
      returned_.ball.store(expected_, std::memory_order_release);
    }
  }

  /// Each player writes its own line and polls the other's, as ranks that enter a call do. (One
  /// line that both write comes back faster than an exchange can be.)
  Line served_, returned_;
  alignas(128) std::uint32_t ball_ = 0;      // the server's own
  alignas(128) std::uint32_t expected_ = 0;  // the other player's own
  std::mutex mutex_;
  std::condition_variable begins_, ends_;
  int number_ = 0;  // of the game
  int at_play_ = 0;
  bool over_ = false;
  double best_ = 0;
  std::thread server_, returner_;
};

PingPong::PingPong(int core, int other_core) : table_(std::make_unique<Table>(core, other_core)) {}
PingPong::~PingPong() = default;

double PingPong::one_way_ns() { return 1e9 * table_->one_way(); }

double process_cpu_seconds() {
  timespec spent = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

CpuTimes read_cpu_times() {
  CpuTimes times;
  times.own = process_cpu_seconds();
  FILE* file = std::fopen("/proc/stat", "re");
  if (file == nullptr) return times;
  // user nice system idle iowait irq softirq steal, in ticks
  unsigned long long ticks[8] = {};
  const int read =
      std::fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1],
                  &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]);
  std::fclose(file);
  if (read == 8)
    times.busy =
        static_cast<double>(ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]) /
        static_cast<double>(::sysconf(_SC_CLK_TCK));
  return times;
}

RoundWatch::RoundWatch(bool active) : active_(active) {
  const auto cores = allowed_cpus();
  if (active && cores.size() >= 2) ping_pong_.emplace(cores[0], cores[1]);
}

double RoundWatch::probe() { return ping_pong_ ? ping_pong_->one_way_ns() : 0; }

void RoundWatch::begin_round() {
  if (!active_) return;
  blocks_.clear();
  peers_ = 0;
  begin_ = read_cpu_times();
  last_probe_ = probe();
}

void RoundWatch::end_block(double peers_cpu_seconds) {
  if (!active_) return;
  const double after = probe();
  blocks_.push_back({.probe_before_ns = last_probe_, .probe_after_ns = after});
  last_probe_ = after;
  peers_ += peers_cpu_seconds;
}

std::vector<RoundFacts> RoundWatch::end_round() {
  if (!active_) return {};
  const CpuTimes end = read_cpu_times();
  const double ours = end.own - begin_.own + peers_;
  const double foreign = std::max(0.0, end.busy - begin_.busy - ours);
  for (auto& block : blocks_) block.foreign_cpu = ours > 0 ? foreign / ours : 0;
  return blocks_;
}

}  // namespace ringside::bench
