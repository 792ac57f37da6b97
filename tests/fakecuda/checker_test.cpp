// SPDX-License-Identifier: MIT
/// The happens-before check against the definition: random programs, and whether two operations of
/// one touch the same bytes without a path between them.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakecuda/test_kernels.hpp"

namespace ringside::tests::fakecuda {
namespace {

constexpr std::size_t count = 16;

/// What is known of the operations before a point: a set of operations.
using Past = std::vector<bool>;

void join(Past& past, const Past& other) {
  if (past.size() < other.size()) past.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) past[i] = past[i] || other[i];
}

struct Range {
  std::size_t begin = 0, end = 0;
  bool writes = false;
};

/// An operation, by what it touches.
struct Done {
  std::vector<Range> ranges;
};

bool conflict(const Done& a, const Done& b) {
  for (const Range& x : a.ranges)
    for (const Range& y : b.ranges)
      if (x.begin < y.end && y.begin < x.end && (x.writes || y.writes)) return true;
  return false;
}

/// Issues a random program, and works out by sets which pairs race.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(std::int32_t)),
              cudaSuccess);
    for (Stream& stream : streams_)
      EXPECT_EQ(cudaStreamCreateWithFlags(&stream.handle, cudaStreamNonBlocking), cudaSuccess);
    for (Event& event : events_)
      EXPECT_EQ(cudaEventCreateWithFlags(&event.handle, cudaEventDisableTiming), cudaSuccess);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      Stream& stream = streams_[below(streams_.size())];
      Event& event = events_[below(events_.size())];
      switch (below(12)) {
        case 0:
        case 1:
        case 2:
          EXPECT_EQ(cudaEventRecord(event.handle, stream.handle), cudaSuccess);
          event.past = stream.past;
          break;
        case 3:
        case 4:
        case 5:
        case 6:
          EXPECT_EQ(cudaStreamWaitEvent(stream.handle, event.handle, 0), cudaSuccess);
          join(stream.past, event.past);
          break;
        case 7:
          if (below(4) != 0) break;
          EXPECT_EQ(cudaStreamSynchronize(stream.handle), cudaSuccess);
          join(host_, stream.past);
          break;
        default:
          operate(stream);
      }
    }
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  [[nodiscard]] std::size_t races() const { return races_; }

 private:
  struct Stream {
    cudaStream_t handle = nullptr;
    Past past;
  };
  struct Event {
    cudaEvent_t handle = nullptr;
    Past past;
  };

  std::size_t below(std::size_t limit) { return random_() % limit; }

  void operate(Stream& stream) {
    join(stream.past, host_);
    const std::size_t length = 1 + below(3), a = below(count - length + 1),
                      b = below(count - length + 1);
    Done now;
    if (below(2) == 0) {
      EXPECT_EQ(launch_fill({data_ + a, 1, length, length}, stream.handle), cudaSuccess);
      now.ranges = {{a, a + length, true}};
    } else {
      const std::size_t to = below(count - length + 1);
      EXPECT_EQ(launch_add({data_ + to, data_ + a, data_ + b, length}, stream.handle), cudaSuccess);
      now.ranges = {{a, a + length, false}, {b, b + length, false}, {to, to + length, true}};
    }
    stream.past.resize(done_.size() + 1);
    for (std::size_t i = 0; i < done_.size(); ++i)
      races_ += !stream.past[i] && conflict(done_[i], now) ? 1 : 0;
    stream.past[done_.size()] = true;
    done_.push_back(now);
  }

  std::mt19937 random_;
  std::int32_t* data_ = nullptr;
  std::array<Stream, 3> streams_;
  std::array<Event, 3> events_;
  Past host_;
  std::vector<Done> done_;
  std::size_t races_ = 0;
};

TEST(CheckerAgainstDefinition, AProgramIsAccusedIfAndOnlyIfTwoOfItsOperationsRace) {
  ASSERT_TRUE(Control::present());
  int racing = 0, clean = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Control::reset();
    RandomProgram program(seed);
    program.run(4 + static_cast<int>(seed % 24));
    const auto reports = Control::take_reports();
    EXPECT_EQ(reports.empty(), program.races() == 0) << "seed " << seed;
    EXPECT_LE(reports.size(), program.races()) << "seed " << seed;
    (program.races() == 0 ? clean : racing) += 1;
  }
  std::printf("%d programs race, %d do not\n", racing, clean);
  EXPECT_GT(racing, 300);
  EXPECT_GT(clean, 300);
}

}  // namespace
}  // namespace ringside::tests::fakecuda
