// SPDX-License-Identifier: MIT
/// The talk with a program that is measured beside us, and its end.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <thread>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/bench/peer_process.hpp"
#include "ringside/bench/sweep.hpp"

namespace ringside::bench {
namespace {

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

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

TEST(ParseTimes, ReadsRanksAndSamples) {
  const auto times = parse_times("times 2 0.5 0.25 3 0.1 1e-3 0", 2, 3);
  EXPECT_EQ(times.rank_seconds, (std::vector{0.5, 0.25}));
  EXPECT_EQ(times.sample_seconds, (std::vector{0.1, 1e-3, 0.0}));
}

TEST(ParseTimes, AnythingElseIsRefused) {
  for (const char* line : {"", "times", "error no", "times 2 0.5 0.25 3 0.1 1e-3",
                           "times 2 0.5 0.25 3 0.1 1e-3 x", "times 2 0.5 -1 3 0.1 1e-3 0",
                           "times 3 0.5 0.25 2 0.1 1e-3 0", "times 2 0.5 0.25 3 0.1 1e-3 0 0",
                           "time 2 0.5 0.25 3 0.1 1e-3 0", "times 2 0.5 nan 3 0.1 1e-3 0"})
    EXPECT_THROW((void)parse_times(line, 2, 3), Error) << line;
}

#ifdef OPENMPI_PROGRAM
TEST(OpenMpi, IsTimedInTheSameRounds) {
  BenchRequest request;
  request.algorithms = {"naive"};
  request.sizes = {.begin = 8, .end = 8192, .factor = 1024, .step = 0};
  request.types = {ElementType::float32, ElementType::bfloat16};
  request.iterations = 6;
  request.rounds = 3;
  request.compare_openmpi = true;
  request.openmpi_program = OPENMPI_PROGRAM;
  request.timeout = Seconds(60);
  const auto report = run_sweep(request);
  ASSERT_EQ(report.series.size(), 2U);
  const auto& peer = report.series[1];
  EXPECT_TRUE(peer.peer);
  EXPECT_NE(peer.detail.find("MPI_Allreduce, processes, "), std::string::npos) << peer.detail;
  ASSERT_EQ(peer.rows.size(), 2U);  // no bfloat16 in MPI
  for (const auto& row : peer.rows)
    for (const auto& timing : row.timings) {
      EXPECT_EQ(timing->iterations, 6);
      EXPECT_EQ(timing->round_times.size(), 3U);
      EXPECT_GT(timing->time, 0);
      EXPECT_FALSE(timing->check.has_value());
    }
  ASSERT_EQ(report.skipped.size(), 1U);
  EXPECT_EQ(report.skipped[0].reason, "MPI has no type bfloat16");
}
#endif

}  // namespace
}  // namespace ringside::bench
