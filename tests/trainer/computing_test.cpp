// SPDX-License-Identifier: MIT
/// What counts as computing, how ranks are slowed, and that nobody waits for other ranks on a
/// thread that ranks may share.
#include "ringside/trainer/computing.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/tests/trainer/learning.hpp"
#include "ringside/trainer/host_replica.hpp"
#include "ringside/trainer/processor_time.hpp"

namespace ringside::tests {
namespace {

using trainer::Computing;
using trainer::Part;
using trainer::StepTimes;
using trainer::StrategyKind;

TEST(Computing, DoesNotCountWhatItWaitsForOthers) {
  StepTimes times;
  Computing computing(times);
  const Stopwatch watch;
  computing.run(Part::forward,
                [&] { computing.interrupt([] { std::this_thread::sleep_for(Seconds(0.02)); }); });
  EXPECT_GE(times[Part::exposed], 0.02);
  EXPECT_LE(times[Part::forward], watch.elapsed().count() - 0.02);
  EXPECT_GE(times[Part::forward], 0);
}

TEST(Computing, ThatIsSlowedTakesLongerByWhatItComputes) {
  StepTimes times;
  Computing computing(times);
  computing.slow_down(5);
  double used = 0;
  computing.run(Part::backward, [&] {
    const double before = trainer::processor_seconds(CLOCK_THREAD_CPUTIME_ID);
    while (used < 0.005) used = trainer::processor_seconds(CLOCK_THREAD_CPUTIME_ID) - before;
  });
  EXPECT_GE(times[Part::backward], 5 * used - 1e-3);
}

/// Runs on another thread, and rethrows here what it throws.
template <class Body>
void elsewhere(Body&& body) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      body();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

TEST(Computing, IsNotInterruptedOnAnotherThread) {
  StepTimes times;
  Computing computing(times);
  bool waited = false;
  const auto on_another_thread = [&] {
    computing.run(Part::backward,
                  [&] { elsewhere([&] { computing.interrupt([&] { waited = true; }); }); });
  };
  try {
    on_another_thread();
    FAIL() << "waited";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("on another thread"), std::string::npos);
  }
  EXPECT_FALSE(waited);
}

/// Computes nothing, and tells of gradients on a thread of its own, as libraries for GPUs do.
class Elsewhere final : public trainer::HostReplica {
 public:
  using HostReplica::HostReplica;
  trainer::Memory forward(const trainer::BatchView& batch, Mode /*mode*/) override {
    outputs_.assign(batch.samples() * trainer::classes, 0);
    return {outputs_.data(), outputs_.size(), ElementType::float32};
  }
  void backward(trainer::Memory /*gradient*/, const trainer::GradientReady& ready) override {
    elsewhere([&] {
      for (std::size_t tensor = tensors().parameters.size(); tensor-- > 0;) tell(ready, tensor);
    });
  }
  [[nodiscard]] std::uint64_t peak_bytes() const override { return allocated_bytes(); }

 private:
  std::vector<float> outputs_;
};

class ElsewhereEngine final : public trainer::Engine {
 public:
  trainer::EngineFacts facts() override { return {"elsewhere", {}, {}}; }
  std::unique_ptr<trainer::Replica> make_replica(const trainer::ModelSettings& settings,
                                                 int /*threads*/) override {
    return std::make_unique<Elsewhere>(settings);
  }
};

TEST(Hooks, OnASharedThreadBeginCallsAndWaitForNone) {
  ElsewhereEngine engine;
  trainer::TrainingSettings settings = small_settings(StrategyKind::distributed);
  EXPECT_EQ(train_on(2, engine, settings).reports.size(), 2U);
  settings.strategy.kind = StrategyKind::sharded;
  settings.strategy.zero_stage = 1;
  EXPECT_EQ(train_on(2, engine, settings).reports.size(), 2U);
}

TEST(Hooks, ThatWouldWaitOnASharedThreadAreAnError) {
  ElsewhereEngine engine;
  trainer::TrainingSettings settings = small_settings(StrategyKind::sharded);
  settings.strategy.overlap = false;
  try {
    (void)train_on(2, engine, settings);
    FAIL() << "waited";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
  }
}

}  // namespace
}  // namespace ringside::tests
