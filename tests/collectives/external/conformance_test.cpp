// SPDX-License-Identifier: MIT
/// Every collective by NCCL is what its definition says: ranks, roots, placements, types,
/// operators, equal and unequal blocks, blocking and ordered in a stream. Where there are GPUs and
/// no double of the CUDA runtime, it is NCCL itself that is tried.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <numeric>

#include "ringside/collectives/layout.hpp"
#include "ringside/tests/collectives/cuda/device_rank.hpp"
#include "ringside/tests/collectives/external/fixture.hpp"
#include "ringside/tests/collectives/host/tried_call.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

struct Trial {
  TriedCall call;
  std::array<std::vector<std::vector<std::byte>>, rounds> expected;  // by round and rank
};

/// Equal blocks, none of anything, or unequal ones with an empty block among them.
std::vector<std::vector<std::size_t>> block_lists(const Request& request) {
  std::vector<std::vector<std::size_t>> lists = {{1}, {37}, {0}};
  const auto count = static_cast<std::size_t>(block_count(request));
  if (count > 1) {
    std::vector<std::size_t> unequal(count);
    for (std::size_t i = 0; i < count; ++i) unequal[i] = (i * 5 + 2) % 11 * 3;
    unequal.back() = 0;
    lists.push_back(unequal);
  }
  return lists;
}

void add_trials(const Request& request, ElementType type, ReduceOp op, std::vector<Trial>& trials) {
  for (const auto& blocks : block_lists(request)) {
    // No multiple of 3: buffers are aligned.
    Trial trial{{request, "", blocks, type, op, trials.size() * 3 + 1}, {}};
    for (int round = 0; round < rounds; ++round)
      if (is_defined(trial.call, static_cast<Round>(round)))
        trial.expected[static_cast<std::size_t>(round)] =
            by_definition(trial.call, static_cast<Round>(round));
    trials.push_back(std::move(trial));
  }
}

/// NCCL 2.28.3 refuses some call of a single rank ("invalid argument"); scaled reductions of 8-bit
/// floats are thought to be it.
bool has_no_kernel(int ranks, ElementType type, ReduceOp op) {
  const bool scales = op == ReduceOp::avg || op == ReduceOp::premul_sum;
  return ranks == 1 && scales && is_floating(type) && size_of(type) == 1;
}

/// Every type and operator on some placement and root, taking turns.
std::vector<Trial> all_trials(int ranks) {
  std::vector<Trial> trials;
  int turn = 0;
  for (int c = 0; c < static_cast<int>(collective_names().size()); ++c) {
    const auto collective = static_cast<Collective>(c);
    if (collective == Collective::barrier) continue;
    const auto next = [&](ElementType type, ReduceOp op) {
      ++turn;
      const Request request{collective, ranks, has_root(collective) ? turn % ranks : 0,
                            collective != Collective::all_to_all && turn % 2 == 0};
      add_trials(request, type, op, trials);
    };
    for (const ElementType type : all_element_types) {
      if (!reduces(collective)) {
        next(type, ReduceOp::sum);
        continue;
      }
      for (const ReduceOp op : all_reduce_ops)
        if (!has_no_kernel(ranks, type, op)) next(type, op);
      ++turn;  // operators and placements are as many: other pairs with the next type
    }
  }
  return trials;
}

/// In a stream both rounds follow one another without the host in between.
void run_trial(Communicator& comm, const Trial& trial, DeviceRank& device, bool in_stream) {
  RankMemory memory(trial.call, comm.rank());
  for (int round = 0; round < rounds; ++round)
    device.put_round(comm, trial.call, memory, round, in_stream);
  device.synchronize();
  for (int round = 0; round < rounds; ++round) {
    const auto& expected = trial.expected[static_cast<std::size_t>(round)];
    if (expected.empty()) continue;
    EXPECT_EQ(memory.difference(device.after(round, memory.bytes().size()),
                                expected[static_cast<std::size_t>(comm.rank())]),
              "")
        << describe(trial.call) << ", round " << round << (in_stream ? ", in a stream" : "");
  }
}

std::vector<int> devices_of(int ranks) {
  std::vector<int> devices(static_cast<std::size_t>(ranks));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

void run_all_trials(int ranks) {
  const auto trials = all_trials(ranks);
  std::size_t most_bytes = 0;
  for (const Trial& trial : trials) most_bytes = std::max(most_bytes, trial.call.bytes());
  World world = World::nccl(devices_of(ranks));
  world.run([&](Communicator& comm) {
    DeviceRank device(most_bytes);
    for (const Trial& trial : trials)
      for (const bool in_stream : {false, true}) try {
          run_trial(comm, trial, device, in_stream);
        } catch (const Error& error) {
          ADD_FAILURE() << describe(trial.call) << ": " << error.what();
          throw;
        }
  });
  testing::Test::RecordProperty("calls", static_cast<int>(trials.size()) * 2 * rounds);
}

class NcclConformance : public NcclTest, public testing::WithParamInterface<int> {};

TEST_P(NcclConformance, EveryCollectiveIsWhatItsDefinitionSays) {
  run_all_trials(GetParam());
  std::map<std::string, int> calls;
  for (const auto& launched : fake.launched()) ++calls[launched.function];
  EXPECT_EQ(calls.size(), 7u) << "some function of NCCL is never used";
}

TEST(RealNccl, IsWhatTheDefinitionsSayOnAllGpus) {
  if (fakecuda::Control::present()) GTEST_SKIP() << "needs a GPU";
  const ScopedOption library("nccl_library", "libnccl.so.2");
  int devices = 0;
  try {
    devices = cuda::device_count();
    (void)World::nccl({0});
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  for (int ranks = 1; ranks <= std::min(devices, 4); ++ranks) run_all_trials(ranks);
}

INSTANTIATE_TEST_SUITE_P(Ranks, NcclConformance, testing::Range(1, 5));

class NcclCalls : public NcclTest {};

TEST_F(NcclCalls, AreNcclsOwnCollectivesWhereItHasThem) {
  World::nccl({0, 1}).run([](Communicator& comm) {
    const DeviceFloats in(8, 1), out(8);
    comm.all_reduce(in.data(), out.data(), 8, ElementType::float32, ReduceOp::avg);
    comm.reduce_scatter(in.data(), out.data(), 4, ElementType::float32, ReduceOp::sum);
    comm.all_gather(in.data(), out.data(), 4, ElementType::float32);
    comm.broadcast(in.data(), out.data(), 8, ElementType::float32, 1);
    comm.reduce(in.data(), out.data(), 8, ElementType::float32, ReduceOp::max, 1);
  });
  std::vector<std::string> of_rank_0;
  for (const auto& launched : fake.launched())
    if (launched.rank == 0) of_rank_0.push_back(launched.function);
  EXPECT_EQ(of_rank_0, (std::vector<std::string>{"ncclAllReduce", "ncclReduceScatter",
                                                 "ncclAllGather", "ncclBroadcast", "ncclReduce"}));
}

TEST_F(NcclCalls, InAStreamReturnWithoutWaitingForIt) {
  fakecuda::Configuration configuration = fakecuda::Control::environment();
  configuration.scheduler = "lazy";  // what nobody waits for does not run
  fakecuda::Control::reset(configuration);
  World::nccl({0, 1}).run([](Communicator& comm) {
    const DeviceFloats data(8, 1);
    const auto stream = cuda::Stream::on(comm.rank());
    comm.all_reduce(data.span(), ReduceOp::sum, {.stream = stream.get()});
    EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    EXPECT_EQ(data.get(), std::vector<float>(8, 2));
  });
}

TEST_F(NcclCalls, OfDifferentRanksThatDifferAreRefusedAndTheNextOnesWork) {
  World::nccl({0, 1}).run([](Communicator& comm) {
    const DeviceFloats data(8, 1);
    const auto elements = static_cast<std::size_t>(4 + comm.rank());
    const Outcome outcome = outcome_of([&] {
      comm.all_reduce(data.data(), data.data(), elements, ElementType::float32, ReduceOp::sum);
    });
    EXPECT_EQ(outcome.code, ErrorCode::mismatch) << outcome.what;
    EXPECT_TRUE(outcome.says("elements (4 and 5)")) << outcome.what;
    expect_works(comm);
  });
}

TEST_F(NcclCalls, OfABarrierLetNobodyThroughEarly) {
  std::atomic<int> came{0};
  World::nccl({0, 1, 2}).run([&](Communicator& comm) {
    for (int i = 1; i <= 5; ++i) {
      ++came;
      comm.barrier();
      EXPECT_GE(came.load(), 3 * i);
      comm.barrier();
    }
  });
}

TEST_F(NcclCalls, AreMadeAsynchronouslyAndInGroups) {
  World::nccl({0, 1}).run([](Communicator& comm) {
    const DeviceFloats a(8, 1), b(8, 2);
    auto first = comm.async().all_reduce(a.span());
    auto second = comm.async().all_reduce(b.span());
    first.wait();
    second.wait();
    EXPECT_EQ(a.get(), std::vector<float>(8, 2));
    EXPECT_EQ(b.get(), std::vector<float>(8, 4));
  });
}

TEST_F(NcclCalls, TakeNoAlgorithmOfOurs) {
  World::nccl({0}).run([](Communicator& comm) {
    const DeviceFloats data(8, 1);
    const auto [code, text] =
        error_of([&] { comm.all_reduce(data.span(), ReduceOp::sum, {.algorithm = "ring"}); });
    EXPECT_EQ(code, ErrorCode::unsupported);
    EXPECT_EQ(text, "NCCL runs algorithms of its own: \"ring\" cannot be asked for");
    EXPECT_EQ(error_of([&] { (void)comm.algorithm_for(Collective::all_reduce, 8, false); }).first,
              ErrorCode::unsupported);
    expect_works(comm);
  });
}

TEST_F(NcclCalls, OnBuffersThatAreNotAlignedToTheirElementsAreRefused) {
  World::nccl({0}).run([](Communicator& comm) {
    const DeviceFloats data(8, 1);
    auto* const odd = reinterpret_cast<std::byte*>(data.data()) + 1;
    const auto [code, text] =
        error_of([&] { comm.all_reduce(odd, odd, 4, ElementType::float32, ReduceOp::sum); });
    EXPECT_EQ(code, ErrorCode::unsupported);
    EXPECT_EQ(text, "NCCL wants buffers that are aligned to their elements, here to 4 bytes");
    expect_works(comm);
  });
}

TEST_F(NcclCalls, OfASecondRunUseTheCommunicatorsOfTheFirst) {
  World world = World::nccl({0, 1});
  for (int run = 0; run < 3; ++run) world.run([](Communicator& comm) { expect_works(comm); });
  const auto names = fake.names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "ncclCommInitAll"), 1);
}

class NcclSplit : public NcclTest {};
class OlderNccl : public NcclTest {
 protected:
  OlderNccl() : NcclTest("older") {}
};

TEST_F(NcclSplit, MakesPartsOfTheRanksOfAColorByKey) {
  World::nccl({0, 1, 2, 3}).run([](Communicator& comm) {
    const int color = comm.rank() == 3 ? Communicator::no_color : comm.rank() % 2;
    auto part = comm.split(color, -comm.rank());
    if (comm.rank() == 3) {
      EXPECT_FALSE(part);
    } else {
      ASSERT_TRUE(part);
      EXPECT_EQ(part->size(), comm.rank() == 1 ? 1 : 2);
      EXPECT_EQ(part->rank(), comm.rank() == 0 ? 1 : 0);
      expect_works(*part);
      const DeviceFloats whose(1, static_cast<float>(comm.rank()));
      part->broadcast(whose.span(), 0);
      EXPECT_EQ(whose.get().front(), comm.rank() == 1 ? 1.0F : 2.0F);
    }
    expect_works(comm);
  });
}

TEST_F(OlderNccl, CannotSplitAndHasNo8BitFloats) {
  World::nccl({0, 1}).run([](Communicator& comm) {
    const auto split = error_of([&] { (void)comm.split(0); });
    EXPECT_EQ(split, std::pair(ErrorCode::unsupported,
                               std::string("NCCL 2.17.5 cannot split a communicator: that came "
                                           "with 2.18")));
    const DeviceFloats data(8, 1);
    const auto narrow = error_of([&] {
      comm.all_reduce(data.data(), data.data(), 4, ElementType::float8_e4m3, ReduceOp::sum);
    });
    EXPECT_EQ(narrow, std::pair(ErrorCode::unsupported,
                                std::string("NCCL 2.17.5 has no float8_e4m3: it came with 2.24")));
    expect_works(comm);
  });
}

}  // namespace
}  // namespace ringside::tests
