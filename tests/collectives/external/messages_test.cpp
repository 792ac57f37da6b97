// SPDX-License-Identifier: MIT
/// Messages by NCCL: ends meet in order, in groups and streams, and what never meets ends in time.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "ringside/collectives/group.hpp"
#include "ringside/tests/collectives/external/fixture.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

class NcclMessages : public NcclTest {};

TEST_F(NcclMessages, ArriveInTheOrderInWhichTheyWereSent) {
  World::nccl({0, 1}).run([](Communicator& comm) {
    for (int i = 0; i < 5; ++i) {
      const DeviceFloats data(16, comm.rank() == 0 ? static_cast<float>(i) : -1.0F);
      if (comm.rank() == 0)
        comm.send(data.span(), 1);
      else
        comm.recv(data.span(), 0);
      EXPECT_EQ(data.get(), std::vector<float>(16, static_cast<float>(i)));
    }
  });
}

TEST_F(NcclMessages, AreExchangedInAGroupWhichIsOneOfNccls) {
  World::nccl({0, 1}).run([](Communicator& comm) {
    const DeviceFloats out(16, static_cast<float>(comm.rank())), in(16);
    grouped([&] {
      comm.send(out.span(), 1 - comm.rank());
      comm.recv(in.span(), 1 - comm.rank());
    });
    EXPECT_EQ(in.get(), std::vector<float>(16, static_cast<float>(1 - comm.rank())));
  });
  EXPECT_EQ(fake.launched().size(), 4u);
}

TEST_F(NcclMessages, GoRoundInARingAndToOneself) {
  World::nccl({0, 1, 2, 3}).run([](Communicator& comm) {
    const int next = (comm.rank() + 1) % 4, before = (comm.rank() + 3) % 4;
    const DeviceFloats out(16, static_cast<float>(comm.rank())), in(16), same(16);
    auto receive = comm.async().recv(in.span(), before);
    comm.send(out.span(), next);
    receive.wait();
    EXPECT_EQ(in.get().front(), static_cast<float>(before));
    grouped([&] {
      comm.recv(same.span(), comm.rank());
      comm.send(out.span(), comm.rank());
    });
    EXPECT_EQ(same.get().front(), static_cast<float>(comm.rank()));
  });
}

TEST_F(NcclMessages, OfManyPeersMayBeListedInAnyOrder) {
  World::nccl({0, 1, 2, 3}).run([](Communicator& comm) {
    std::vector<DeviceFloats> in, out;
    for (int peer = 0; peer < 4; ++peer) {
      out.emplace_back(8, static_cast<float>(10 * comm.rank() + peer));
      in.emplace_back(8);
    }
    std::vector<Handle> handles;
    for (int i = 1; i < 4; ++i) {
      const auto to = static_cast<std::size_t>((comm.rank() + i) % 4);
      const auto from = static_cast<std::size_t>(comm.rank() ^ i);
      handles.push_back(comm.async().send(out[to].span(), static_cast<int>(to)));
      handles.push_back(comm.async().recv(in[from].span(), static_cast<int>(from)));
    }
    for (auto& handle : handles) handle.wait();
    for (int from = 0; from < 4; ++from)
      if (from != comm.rank()) {
        EXPECT_EQ(in[static_cast<std::size_t>(from)].get().front(),
                  static_cast<float>(10 * from + comm.rank()));
      }
  });
}

TEST_F(NcclMessages, InAStreamAreOrderedInIt) {
  World::nccl({0, 1}).run([](Communicator& comm) {
    const auto stream = cuda::Stream::on(comm.rank());
    const DeviceFloats data(16, comm.rank() == 0 ? 3.0F : 0.0F);
    if (comm.rank() == 0)
      comm.send(data.span(), 1, {.stream = stream.get()});
    else
      comm.recv(data.span(), 0, {.stream = stream.get()});
    EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    EXPECT_EQ(data.get(), std::vector<float>(16, 3));
  });
  for (const auto& launched : fake.launched()) EXPECT_NE(launched.stream, nullptr);
}

TEST_F(NcclMessages, OfDifferentLengthsAreRefusedOnBothSidesAndTheNextOnesWork) {
  World::nccl({0, 1}).run([](Communicator& comm) {
    const DeviceFloats data(16, 1);
    const Outcome outcome = outcome_of([&] {
      if (comm.rank() == 0)
        comm.send(data.data(), 16, ElementType::float32, 1);
      else
        comm.recv(data.data(), 15, ElementType::float32, 0);
    });
    EXPECT_EQ(outcome.code, ErrorCode::mismatch);
    EXPECT_EQ(outcome.what, "rank 0 sent 16 float32 to rank 1, which expected 15 float32");
    EXPECT_EQ(outcome.peer, 1 - comm.rank());
    expect_works(comm);
  });
}

TEST_F(NcclMessages, OfNothingMeetToo) {
  World::nccl({0, 1}).run([](Communicator& comm) {
    const DeviceFloats data(1, 1);
    if (comm.rank() == 0)
      comm.send(data.data(), 0, ElementType::float32, 1);
    else
      comm.recv(data.data(), 0, ElementType::float32, 0);
    expect_works(comm);
  });
}

TEST_F(NcclMessages, ThatNobodyTakesFailInTime) {
  World::nccl({0, 1}).run([](Communicator& comm) {
    if (comm.rank() == 1) {
      // Comes to nothing until the other has given up.
      const Outcome outcome = outcome_of([&] { comm.barrier(); });
      expect_cause(outcome, ErrorCode::timeout, "rank 1 has not received the 16 float32");
      return;
    }
    const DeviceFloats data(16, 1);
    const Outcome outcome =
        outcome_of([&] { comm.send(data.span(), 1, {.timeout = std::chrono::milliseconds(50)}); });
    EXPECT_EQ(outcome.code, ErrorCode::timeout);
    EXPECT_EQ(outcome.what, "rank 1 has not received the 16 float32 that rank 0 sent after 50 ms");
  });
}

TEST_F(NcclMessages, ToARankThatHasReturnedFailAtOnce) {
  World::nccl({0, 1}).run([](Communicator& comm) {
    if (comm.rank() == 1) return;
    const DeviceFloats data(16, 1);
    const Outcome outcome = outcome_of([&] { comm.recv(data.span(), 1); });
    EXPECT_EQ(outcome.code, ErrorCode::timeout);
    EXPECT_TRUE(outcome.says("rank 1 has returned without it")) << outcome.what;
  });
}

}  // namespace
}  // namespace ringside::tests
