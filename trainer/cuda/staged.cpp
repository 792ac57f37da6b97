// SPDX-License-Identifier: MIT
/// Data at the host that travel between GPUs.
#include <algorithm>
#include <memory>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/trainer/backend.hpp"
#include "ringside/trainer/forwarding.hpp"

namespace ringside::trainer {
namespace {

class Staged final : public Forwarding {
 public:
  Staged(Communicator& inner, int device)
      : Forwarding(inner), device_(device), stream_(cuda::Stream::on(device)) {}

  /// The queue's thread, which runs asynchronous calls.
  void begin_thread() override { (void)cudaSetDevice(device_); }

  void add_message(const Message& message, const CallOptions& options, Over over) override {
    const std::size_t bytes = message.elements * size_of(message.type);
    const bool comes = message.direction == Message::Direction::receive;
    std::shared_ptr<cuda::DeviceMemory> memory;
    if (auto error = exception_of([&] {
          memory = std::make_shared<cuda::DeviceMemory>(cuda::DeviceMemory::on(device_, bytes));
          if (!comes) copy(memory->data(), message.data, bytes, cudaMemcpyHostToDevice);
        }))
      return over(std::move(error));
    Message staged = message;
    staged.data = memory->data();
    Forwarding::add_message(
        staged, options, [=, this, tell = std::move(over)](std::exception_ptr error) {
          if (comes && !error)
            error = exception_of(
                [&] { copy(message.data, memory->data(), bytes, cudaMemcpyDeviceToHost); });
          tell(std::move(error));
        });
  }

  void run(const Call& call) override {
    const std::size_t input = bytes_of(call, Buffer::input);
    const std::size_t output = bytes_of(call, Buffer::output);
    const auto [device_input, device_output] = place(call, input, output);
    copy(device_input, call.input, input, cudaMemcpyHostToDevice);
    inner_.submit(Arguments{call.collective, device_input, device_output, call.blocks, call.type,
                            call.op, call.root},
                  *call.options);
    copy(call.output, device_output, output, cudaMemcpyDeviceToHost);
  }

 private:
  struct Places {
    std::byte *input, *output;
  };

  [[nodiscard]] std::size_t bytes_of(const Call& call, Buffer buffer) const {
    return elements_in(call.blocks, blocks_in(call.request(size(), false), rank(), buffer)) *
           size_of(call.type);
  }

  /// Where the data lie on the device: to each other as they do at the host, if in place.
  Places place(const Call& call, std::size_t input, std::size_t output) {
    if (call.placement != Placement::in_place) return {room(input_, input), room(output_, output)};
    const std::byte* first = std::min<const std::byte*>(call.input, call.output);
    const std::byte* end = std::max<const std::byte*>(call.input + input, call.output + output);
    std::byte* base = room(input_, static_cast<std::size_t>(end - first));
    return {base + (call.input - first), base + (call.output - first)};
  }

  std::byte* room(cuda::DeviceMemory& memory, std::size_t bytes) const {
    if (memory.size() < bytes) memory = cuda::DeviceMemory::on(device_, bytes);
    return memory.data();
  }

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    if (bytes == 0) return;
    cuda::check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "cudaMemcpyAsync", device_);
    cuda::check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize", device_);
  }

  int device_;
  cuda::Stream stream_;
  cuda::DeviceMemory input_, output_;
};

}  // namespace

Communicator staged(Communicator& inner, int device) {
  return Communicator(std::make_unique<Staged>(inner, device));
}

int gpu_count() { return cuda::device_count(); }

}  // namespace ringside::trainer
