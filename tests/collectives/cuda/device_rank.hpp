// SPDX-License-Identifier: MIT
/// A rank's memory on its GPU for calls to be tried: what RankMemory holds on the host, there.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/tests/collectives/cuda/gpu_test.hpp"
#include "ringside/tests/collectives/host/tried_call.hpp"

namespace ringside::tests {

/// Of the calling thread's current device.
class DeviceRank {
 public:
  /// For calls of up to `most_bytes` of memory a rank.
  explicit DeviceRank(std::size_t most_bytes)
      : device_(current_device()),
        stream_(cuda::Stream::on(device_)),
        used_(stream_.get()),
        memory_(cuda::DeviceMemory::on(device_, most_bytes)) {
    for (int round = 0; round < rounds; ++round) {
      sent_.push_back(cuda::PinnedMemory::of(most_bytes));
      got_.push_back(cuda::PinnedMemory::of(most_bytes));
    }
  }
  ~DeviceRank() { (void)cudaStreamSynchronize(stream_.get()); }
  DeviceRank(const DeviceRank&) = delete;
  DeviceRank& operator=(const DeviceRank&) = delete;

  [[nodiscard]] cudaStream_t stream() const { return used_; }
  /// From now on, instead of its own: a stream that lives as long.
  void use(cudaStream_t stream) { used_ = stream; }

  /// What the rank passes in a call of `memory`, its addresses moved to the device.
  [[nodiscard]] Arguments arguments(RankMemory& memory) const {
    Arguments arguments = memory.arguments();
    const std::byte* begin = memory.bytes().data();
    const std::byte* end = begin + memory.bytes().size();
    const auto moved = [&](const void* address) -> std::byte* {
      const auto* at = static_cast<const std::byte*>(address);
      return at == nullptr || at < begin || at > end ? nullptr : memory_.data() + (at - begin);
    };
    arguments.input = moved(arguments.input);
    arguments.output = moved(arguments.output);
    return arguments;
  }

  /// Puts in the stream: the round's memory to the device, the call, and what the memory is then
  /// back to the host.
  /// `in_stream`: the call, too; otherwise it is made between waits.
  void put_round(Communicator& comm, const TriedCall& call, RankMemory& memory, int round,
                 bool in_stream = true) {
    const auto i = static_cast<std::size_t>(round);
    memory.fill(static_cast<Round>(round));
    const std::size_t bytes = memory.bytes().size();
    std::memcpy(sent_[i].data(), memory.bytes().data(), bytes);
    copy(memory_.data(), sent_[i].data(), bytes);
    CallOptions options = call.options(static_cast<Round>(round));
    if (in_stream)
      options.stream = used_;
    else
      synchronize();
    comm.submit(arguments(memory), options);
    copy(got_[i].data(), memory_.data(), bytes);
  }

  /// Puts in the stream: something else in all of the memory.
  void put_overwrite() {
    cuda::check(cudaMemsetAsync(memory_.data(), 0x5a, memory_.size(), used_), "cudaMemsetAsync",
                device_);
  }

  void synchronize() {
    cuda::check(cudaStreamSynchronize(used_), "cudaStreamSynchronize", device_);
  }
  /// After a round, when the stream was synchronised with.
  [[nodiscard]] std::vector<std::byte> after(int round, std::size_t bytes) const {
    const std::byte* data = got_[static_cast<std::size_t>(round)].data();
    return {data, data + bytes};
  }

 private:
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, used_), "cudaMemcpyAsync",
                device_);
  }

  int device_;
  cuda::Stream stream_;
  cudaStream_t used_;
  cuda::DeviceMemory memory_;
  std::vector<cuda::PinnedMemory> sent_, got_;
};

}  // namespace ringside::tests
