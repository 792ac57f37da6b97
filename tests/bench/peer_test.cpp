// SPDX-License-Identifier: MIT
/// The talk with a program that is measured beside us, and its end.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/bench/competitors.hpp"
#include "ringside/bench/peer_process.hpp"
#include "ringside/bench/peer_subject.hpp"
#include "ringside/bench/peers/contributions.hpp"
#include "ringside/bench/peers/protocol.hpp"
#include "ringside/bench/sweep.hpp"

namespace ringside::bench {
namespace {

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

#ifdef PEER_FOLDER
std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  for (const auto name : split(text, '+')) names.emplace_back(name);
  return names;
}
#endif

template <class Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorCode::internal, "none"};
}

TEST(PeerProcess, AnswersLinesEvenInPieces) {
  PeerProcess peer(
      shell("printf 'rea'; sleep 0.05; printf 'dy\\nmore\\n'; read a; echo \"got $a\""),
      Seconds(20));
  EXPECT_EQ(peer.receive(), "ready");
  EXPECT_EQ(peer.receive(), "more");
  peer.send("this");
  EXPECT_EQ(peer.receive(), "got this");
}

TEST(PeerProcess, OneThatCannotBeStartedIsAnError) {
  const auto error = error_of([] { PeerProcess peer({"no-such-program-anywhere"}, Seconds(5)); });
  EXPECT_NE(std::string(error.what()).find("no-such-program-anywhere"), std::string::npos);
}

TEST(PeerProcess, OneThatEndsSaysWhy) {
  PeerProcess peer(shell("echo '-----' >&2; echo 'no slots left' >&2; exit 3"), Seconds(20));
  const auto error = error_of([&] { (void)peer.receive(); });
  EXPECT_EQ(error.code(), ErrorCode::failed);
  EXPECT_NE(std::string(error.what()).find("no slots left"), std::string::npos) << error.what();
}

TEST(PeerProcess, SilenceEndsAtTheLimit) {
  PeerProcess peer(shell("read a"), Seconds(0.05));
  const auto error = error_of([&] { (void)peer.receive(); });
  EXPECT_EQ(error.code(), ErrorCode::timeout);
}

TEST(PeerProcess, OneThatWillNotEndIsKilledWithWhatItStarted) {
  pid_t grandchild = 0;
  {
    PeerProcess peer(shell("sleep 1000 & echo $!; trap '' TERM; read a; wait"), Seconds(20));
    grandchild = static_cast<pid_t>(std::stol(peer.receive()));
    EXPECT_EQ(::kill(grandchild, 0), 0);
  }
  // Reaped by whoever inherits it, perhaps a moment later.
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i) {
    gone = ::kill(grandchild, 0) != 0;
    if (!gone) {
      char state = '?';
      const std::string path = "/proc/" + std::to_string(grandchild) + "/stat";
      if (FILE* file = std::fopen(path.c_str(), "r")) {
        if (std::fscanf(file, "%*d %*s %c", &state) != 1) state = '?';
        std::fclose(file);
      }
      gone = state == 'Z';
    }
    if (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(gone);
}

TEST(PeerProtocol, ACommandSurvivesItsLine) {
  PeerCommand command{.verb = PeerCommand::Verb::run,
                      .collective = Collective::reduce_scatter,
                      .root = 3,
                      .count = 12345678901,
                      .type = ElementType::float64,
                      .op = ReduceOp::max,
                      .placement = Placement::out_of_place,
                      .block = {.samples = 7, .calls_per_sample = 8, .lead_in = 9}};
  for (const auto buffers : all_buffers) {
    command.block.buffers = buffers;
    const auto read = parse_peer_command(to_line(command));
    EXPECT_TRUE(read.same_call(command));
    EXPECT_EQ(to_line(read), to_line(command));
    EXPECT_EQ(read.block.buffers, buffers);
  }
  command.verb = PeerCommand::Verb::quit;
  EXPECT_EQ(parse_peer_command(to_line(command)).verb, PeerCommand::Verb::quit);
}

TEST(PeerProtocol, OtherLinesAreRefused) {
  for (const char* line :
       {"", "run", "run all_reduce 1 float32 sum in 0 warm 1 1", "stop",
        "run all_reduce -1 float32 sum in 0 warm 1 1 1", "run all 1 float32 sum in 0 warm 1 1 1",
        "run all_reduce 1 float sum in 0 hot 1 1 1", "run all_reduce 1 float sum on 0 warm 1 1 1",
        "run all_reduce 1 float32 sum in 0 warm 0 1 1"})
    EXPECT_THROW((void)parse_peer_command(line), Error) << line;
}

TEST(PeerProtocol, TimesSurviveTheirLine) {
  const BlockTimes times{.rank_seconds = {0.1, 1.0 / 3},
                         .sample_seconds = {1e-7, 2.5e-9, 0},
                         .foreign_cpu_seconds = 0.75};
  const auto read = parse_times(to_line(times), 2, 3);
  EXPECT_EQ(read.rank_seconds, times.rank_seconds);
  EXPECT_EQ(read.sample_seconds, times.sample_seconds);
  EXPECT_EQ(read.foreign_cpu_seconds, times.foreign_cpu_seconds);
}

TEST(PeerProtocol, AnythingButTheTimesAskedForIsRefused) {
  for (const char* line :
       {"", "times", "error no", "times 2 0.5 0.25 3 0.1 1e-3 cpu 1",
        "times 2 0.5 0.25 3 0.1 1e-3 x cpu 1", "times 2 0.5 -1 3 0.1 1e-3 0 cpu 1",
        "times 3 0.5 0.25 2 0.1 1e-3 0 cpu 1", "times 2 0.5 0.25 3 0.1 1e-3 0 0 cpu 1",
        "time 2 0.5 0.25 3 0.1 1e-3 0 cpu 1", "times 2 0.5 nan 3 0.1 1e-3 0 cpu 1",
        "times 2 0.5 0.25 3 0.1 1e-3 0 1 cpu", "times 2 0.5 0.25 3 0.1 1e-3 0 cpu"})
    EXPECT_THROW((void)parse_times(line, 2, 3), Error) << line;
}

/// The inputs of a call, and outputs that nobody has written.
struct Memory {
  Memory(const PeerCommand& command, int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto layout = peer_layout(command, ranks, rank);
      inputs.emplace_back(layout.input_elements(command.count));
      outputs.emplace_back(layout.output_elements(command.count));
      write_contributions(command, ranks, rank, bytes(inputs.back()));
      poison_output(command, ranks, rank, bytes(outputs.back()));
    }
  }
  static std::byte* bytes(std::vector<std::int32_t>& words) {
    return reinterpret_cast<std::byte*>(words.data());
  }
  std::vector<std::vector<std::int32_t>> inputs, outputs;
};

PeerCommand integers(Collective collective, std::uint64_t count) {
  return {.collective = collective,
          .count = count,
          .type = ElementType::int32,
          .placement = Placement::out_of_place};
}

TEST(PeerContributions, ASumPassesAndOneElementTooFewShows) {
  constexpr int ranks = 3;
  for (const std::uint64_t count : {1U, 5000U, 20000U}) {
    const auto command = integers(Collective::all_reduce, count);
    Memory memory(command, ranks);
    EXPECT_GT(wrong_elements(command, ranks, 1, Memory::bytes(memory.outputs[1])), 0U);
    for (std::size_t i = 0; i < count; ++i)
      memory.outputs[1][i] = memory.inputs[0][i] + memory.inputs[1][i] + memory.inputs[2][i];
    EXPECT_EQ(wrong_elements(command, ranks, 1, Memory::bytes(memory.outputs[1])), 0U);
    memory.outputs[1].back() -= memory.inputs[0].back();  // a contribution is missing
    EXPECT_EQ(wrong_elements(command, ranks, 1, Memory::bytes(memory.outputs[1])), 1U);
  }
}

TEST(PeerContributions, BlocksInAnotherOrderShow) {
  constexpr int ranks = 3;
  const auto command = integers(Collective::all_to_all, 10);
  Memory memory(command, ranks);
  auto& received = memory.outputs[2];
  for (std::size_t from = 0; from < 3; ++from)
    std::copy_n(memory.inputs[from].begin() + 20, 10, received.begin() + std::ptrdiff_t(from) * 10);
  EXPECT_EQ(wrong_elements(command, ranks, 2, Memory::bytes(received)), 0U);
  std::swap_ranges(received.begin(), received.begin() + 10, received.begin() + 10);
  EXPECT_EQ(wrong_elements(command, ranks, 2, Memory::bytes(received)), 20U);
}

TEST(Competitors, AreNamedOneByOneOrAll) {
  EXPECT_EQ(parse_competitors("gloo,openmpi,gloo"), (std::vector<std::string>{"gloo", "openmpi"}));
  const auto all = parse_competitors("all");
  EXPECT_EQ(all.size(), peer_kinds().size());
  EXPECT_THROW((void)parse_competitors("openmp"), Error);
  EXPECT_THROW((void)parse_competitors(""), Error);
}

TEST(Competitors, WhatIsNotInstalledIsRefusedByNameAndLeftOutOfAll) {
  BenchRequest request;
  request.algorithms = {"naive"};
  request.sizes = {.begin = 64, .end = 64, .factor = 2, .step = 0};
  request.iterations = 1;
  request.peer_folder = "/nonexistent";
  request.compare = {"gloo"};
  const auto error = error_of([&] { (void)run_sweep(request); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_NE(std::string(error.what()).find("install libgloo-dev"), std::string::npos)
      << error.what();
  request.compare_what_is_here = true;
  const auto report = run_sweep(request);
  EXPECT_EQ(report.series.size(), 1U);
  ASSERT_EQ(report.skipped.size(), 1U);
  EXPECT_EQ(report.skipped[0].label, "gloo");
}

#ifdef PEER_FOLDER
/// Every library that was there when this was built.
class Peer : public testing::TestWithParam<std::string> {};

TEST_P(Peer, IsTimedInTheSameRounds) {
  BenchRequest request;
  request.algorithms = {"naive"};
  request.sizes = {.begin = 8, .end = 8192, .factor = 1024, .step = 0};
  request.types = {ElementType::float32, ElementType::bfloat16};
  request.iterations = 6;
  request.rounds = 3;
  request.compare = {GetParam()};
  request.peer_folder = PEER_FOLDER;
  request.timeout = Seconds(60);
  const auto report = run_sweep(request);
  if (!report.skipped.empty() && report.skipped[0].reason.find("cores") != std::string::npos)
    GTEST_SKIP() << report.skipped[0].reason;
  ASSERT_EQ(report.series.size(), 2U);
  const auto& peer = report.series[1];
  EXPECT_TRUE(peer.peer);
  EXPECT_EQ(peer.label, GetParam());
  ASSERT_EQ(peer.rows.size(), 2U);  // no bfloat16
  for (const auto& row : peer.rows)
    for (const auto& timing : row.timings) {
      EXPECT_EQ(timing->iterations, 6);
      EXPECT_EQ(timing->round_times.size(), 3U);
      EXPECT_GT(timing->time, 0);
      EXPECT_FALSE(timing->check.has_value());
    }
  ASSERT_EQ(report.skipped.size(), 1U);
  EXPECT_NE(report.skipped[0].reason.find("has no type bfloat16"), std::string::npos)
      << report.skipped[0].reason;
}

/// The peers check one call of each kind themselves: a wrong one is an error.
TEST_P(Peer, DoesEveryCollectiveRightInEveryPlacement) {
  const PeerKind& kind = *find_peer_kind(GetParam());
  const int ranks = kind.needs_cores ? std::min(2, allowed_cpu_count()) : 3;
  const PeerSetup setup{.ranks = ranks, .limit = Seconds(60), .folder = PEER_FOLDER};
  PeerProcess process(peer_command_line(kind, setup), setup.limit);
  EXPECT_TRUE(process.receive().starts_with("ready "));
  int timed = 0;
  for (const auto name : collective_names())
    for (const auto placement : placements) {
      PeerCommand command{.collective = *parse_collective(name),
                          .root = ranks - 1,
                          .count = 1001,
                          .placement = placement};
      command.block = {
          .samples = 2, .calls_per_sample = 3, .lead_in = 1, .buffers = Buffers::rewritten};
      command.verb = PeerCommand::Verb::ask;
      process.send(to_line(command));
      if (process.receive() != "yes") continue;
      command.verb = PeerCommand::Verb::run;
      process.send(to_line(command));
      const auto times = parse_times(process.receive(), static_cast<std::size_t>(ranks), 2);
      EXPECT_GT(times.rank_seconds[0], 0) << name;
      EXPECT_GT(times.foreign_cpu_seconds, 0) << name;
      ++timed;
    }
  EXPECT_GE(timed, 13);  // of 18, and every library lacks something
}

INSTANTIATE_TEST_SUITE_P(Libraries, Peer, testing::ValuesIn(split_names(PEERS)),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });
#endif

}  // namespace
}  // namespace ringside::bench
