// SPDX-License-Identifier: MIT
/// The executor on GPUs gives the bits of the reference interpreter, which are the host executor's:
/// every collective by every algorithm, on 2 to 9 ranks and 1 to 8 devices, in streams and as
/// graphs, whatever the devices can do with each other's memory, in calls that follow one another
/// in streams without anybody waiting. On the test double its order of operations is random, and
/// its happens-before check must find nothing. `--full` tries everything, else a fair sample.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/selector/choice.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/cuda/device_rank.hpp"
#include "ringside/tests/collectives/host/calls_to_try.hpp"
#include "ringside/tests/collectives/host/tried_call.hpp"
#include "ringside/tests/fakecuda/control.hpp"

namespace ringside::tests {
namespace {

using fakecuda::Control;

bool full_run = false;

/// What a world of ranks on devices is tried with.
struct Setting {
  int ranks = 2;
  int devices = 1;
  std::string p2p = "auto";  ///< the option cuda_p2p
  bool graphs = false;
  std::uint64_t seed = 1;  ///< of the double's order

  [[nodiscard]] std::vector<int> device_of_rank() const {
    std::vector<int> list;
    for (int rank = 0; rank < ranks; ++rank) list.push_back(rank % devices);
    return list;
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} ranks on {} devices, p2p {}, {}, seed {}", ranks, devices, p2p,
                       graphs ? "graphs" : "streams", seed);
  }
};

using Expected = std::array<std::vector<std::vector<std::byte>>, rounds>;  // [round][rank]

Expected expectation(const TriedCall& call) {
  std::string spec = call.spec;
  if (spec == "auto") {
    std::size_t elements = std::accumulate(call.blocks.begin(), call.blocks.end(), std::size_t{0});
    if (call.blocks.size() == 1) elements *= static_cast<std::size_t>(block_count(call.request));
    spec = choose(*tuning_in_use(), {"cuda", 1}, call.request, elements * size_of(call.type)).spec;
  }
  const Plan plan = make_plan(spec, call.request);
  return {by_reference(call, plan, Round::rough), by_reference(call, plan, Round::exact)};
}

/// What is wrong with one rank's rounds, or nothing.
std::string run_call(Communicator& comm, DeviceRank& device, const TriedCall& call,
                     const Expected& expected) {
  RankMemory memory(call, comm.rank());
  for (int round = 0; round < rounds; ++round) device.put_round(comm, call, memory, round);
  device.synchronize();
  const auto rank = static_cast<std::size_t>(comm.rank());
  for (int round = 0; round < rounds; ++round) {
    const auto after = device.after(round, memory.bytes().size());
    const auto what = memory.difference(after, expected[static_cast<std::size_t>(round)][rank]);
    if (!what.empty())
      return fmt::format("{}: rank {}, call {}: {} differs", describe(call), rank, round, what);
  }
  return {};
}

class Trial {
 public:
  explicit Trial(const Setting& setting)
      : setting_(setting),
        p2p_("cuda_p2p", setting.p2p),
        graphs_("cuda_graphs", setting.graphs ? "1" : "0") {
    if (!Control::present()) return;
    auto configuration = Control::environment();
    configuration.devices = setting.devices;
    configuration.scheduler = fmt::format("pct:{}", setting.seed);
    Control::reset(configuration);
  }

  void run(const std::vector<TriedCall>& calls) {
    if (calls.empty()) return;
    std::vector<Expected> expected;
    std::size_t most_bytes = 0;
    for (const auto& call : calls) {
      expected.push_back(expectation(call));
      for (const auto& rank : expected.back().front())
        most_bytes = std::max(most_bytes, rank.size());
    }
    World::cuda(setting_.device_of_rank()).run([&](Communicator& comm) {
      DeviceRank device(most_bytes);
      for (std::size_t i = 0; i < calls.size(); ++i)
        if (const auto fault = run_call(comm, device, calls[i], expected[i]); !fault.empty()) {
          const std::lock_guard lock(mutex_);
          faults_.push_back(fault);
        }
    });
    look_for_faults();
  }

 private:
  void look_for_faults() {
    if (Control::present()) {
      for (const auto& report : Control::take_reports()) faults_.push_back(report.text);
      for (const auto& leak : Control::leaks()) faults_.push_back("left behind: " + leak);
    }
    for (std::size_t i = 0; i < faults_.size() && i < 5; ++i)
      ADD_FAILURE() << setting_.text() << ": " << faults_[i];
    EXPECT_EQ(faults_.size(), 0u);
  }

  Setting setting_;
  ScopedOption p2p_, graphs_;
  std::mutex mutex_;
  std::vector<std::string> faults_;
};

/// Where there is a real device it is the only one.
int devices_here() {
  if (Control::present()) return 8;
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

TEST(CudaConformance, EveryAlgorithmInStreamsAndGraphsOnAnyDevicesGivesTheReferencesBits) {
  const int most_devices = devices_here();
  if (most_devices == 0) GTEST_SKIP() << "no GPU";
  Dealer deal;
  std::size_t count = 0, settings = 0;
  std::map<std::string, std::size_t> by_kind;
  const std::size_t share = full_run ? 1 : 61;  // one of so many calls is tried
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (int devices = 1; devices <= std::min({8, ranks, most_devices}); ++devices)
      for (const char* p2p : {"auto", "copy", "none"})
        for (const bool graphs : {false, true}) {
          if (devices == 1 && std::string_view(p2p) != "auto") continue;  // nobody to reach
          std::vector<TriedCall> calls;
          for_each_algorithm(ranks, [&](Request request, const std::string& spec) {
            for (const auto& cut : cuts) {
              if (spec == "auto" && cut.slices > 0) break;
              if (mix(deal.number()) % share != 0) continue;
              request.root = deal.root(request.collective, ranks);
              calls.push_back(deal.call(request, with_cut(spec, cut), deal.type(),
                                        deal.op(request.collective), deal.way(request)));
            }
          });
          Setting setting{ranks, devices, p2p, graphs, ++settings};
          Trial(setting).run(calls);
          count += calls.size();
          by_kind[fmt::format("{}, p2p {}", graphs ? "graphs" : "streams", p2p)] += calls.size();
        }
  for (const auto& [kind, calls] : by_kind)
    fmt::print("cuda conformance: {}: {} calls\n", kind, calls);
  fmt::print("cuda conformance: {} calls in {} settings, each made twice on all ranks\n", count,
             settings);
}

}  // namespace
}  // namespace ringside::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--full") ringside::tests::full_run = true;
  return RUN_ALL_TESTS();
}
