// SPDX-License-Identifier: MIT
#include "ringside/bench/cuda/memory.hpp"

#include <algorithm>

#include "ringside/bench/block_timer.hpp"
#include "ringside/bench/cuda/waiting.hpp"
#include "ringside/bench/inputs.hpp"

namespace ringside::bench {
namespace {

/// The memory of a call, where its two buffers are.
Stage::Memory place(std::byte* input, std::byte* output, Placement placement,
                    const CallShape& shape, std::size_t element) {
  if (placement == Placement::in_place) input = output;
  return {input + shape.input_at * element, output + shape.output_at * element};
}

/// Fills with copies of what is at the beginning already, `done` bytes of it: each copy is twice as
/// long as the one before.
void spread(const cuda::DeviceMemory& memory, std::size_t done, cudaStream_t stream) {
  while (done < memory.size()) {
    const std::size_t more = std::min(done, memory.size() - done);
    cuda::check(cudaMemcpyAsync(memory.data() + done, memory.data(), more, cudaMemcpyDeviceToDevice,
                                stream),
                "cudaMemcpyAsync", memory.device());
    done += more;
  }
}

}  // namespace

GpuMemory::GpuMemory(const Request& what, std::size_t bytes, const BenchRequest& request,
                     std::vector<int> devices)
    : devices_(std::move(devices)) {
  for (int rank = 0; rank < what.ranks; ++rank) {
    const RankBytes sizes = rank_bytes(what, rank, bytes, request);
    Part& part = parts_.emplace_back();
    part.stream = cuda::Stream::on(device(rank));
    part.input = cuda::DeviceMemory::on(device(rank), sizes.input);
    part.output = cuda::DeviceMemory::on(device(rank), sizes.output);
  }
}

Stage::Memory GpuMemory::on_device(int rank, Placement placement, const CallShape& shape,
                                   std::size_t element_bytes) const {
  return place(part(rank).input.data(), part(rank).output.data(), placement, shape, element_bytes);
}

Stage::Memory GpuMemory::on_host(int rank, Placement placement, const CallShape& shape,
                                 std::size_t element_bytes) {
  Part& own = part(rank);
  if (own.host_output.data() == nullptr) {
    own.host_input = PageBuffer(own.input.size());
    own.host_output = PageBuffer(own.output.size());
  }
  return place(own.host_input.data(), own.host_output.data(), placement, shape, element_bytes);
}

void GpuMemory::upload(int rank, Placement placement, const CallShape& shape,
                       std::size_t element_bytes) {
  copy_all(rank, on_host(rank, placement, shape, element_bytes),
           on_device(rank, placement, shape, element_bytes), shape, element_bytes);
}

void GpuMemory::download(int rank, Placement placement, const CallShape& shape,
                         std::size_t element_bytes) {
  copy_all(rank, on_device(rank, placement, shape, element_bytes),
           on_host(rank, placement, shape, element_bytes), shape, element_bytes);
}

void GpuMemory::copy_all(int rank, const Stage::Memory& from, const Stage::Memory& to,
                         const CallShape& shape, std::size_t element_bytes) {
  const auto copy = [&](std::byte* target, const std::byte* source, std::size_t elements) {
    if (elements == 0) return;
    cuda::check(
        cudaMemcpyAsync(target, source, elements * element_bytes, cudaMemcpyDefault, stream(rank)),
        "cudaMemcpyAsync", device(rank));
  };
  copy(to.output, from.output, shape.output);
  copy(to.input, from.input, shape.input);
}

void GpuMemory::synchronise(int rank, Seconds limit) const {
  await_device(stream(rank), limit, rank, device(rank));
}

void GpuMemory::fill_with_ones(ElementType type, Seconds limit) {
  std::vector<std::byte> pattern(std::size_t{1} << 16);
  const std::uint64_t one = bits_of_one(type);
  fill_with(pattern.data(), pattern.size() / size_of(type), &one, size_of(type));
  for (int rank = 0; rank < static_cast<int>(parts_.size()); ++rank) {
    const cuda::DeviceGuard guard(device(rank));
    for (const auto* memory : {&part(rank).input, &part(rank).output}) {
      const std::size_t first = std::min(pattern.size(), memory->size());
      if (first == 0) continue;
      cuda::check(cudaMemcpyAsync(memory->data(), pattern.data(), first, cudaMemcpyHostToDevice,
                                  stream(rank)),
                  "cudaMemcpyAsync", device(rank));
      spread(*memory, first, stream(rank));
    }
  }
  for (int rank = 0; rank < static_cast<int>(parts_.size()); ++rank) synchronise(rank, limit);
}

cudaEvent_t GpuMemory::event(int rank, std::size_t number) {
  auto& events = part(rank).events;
  while (events.size() <= number) events.push_back(cuda::Event::timed_on(device(rank)));
  return events[number].get();
}

std::uint64_t host_copy_bytes(const Request& what, std::size_t bytes, const BenchRequest& request) {
  if (!request.check) return 0;
  std::uint64_t sum = 0;
  for (int rank = 0; rank < what.ranks; ++rank) {
    const RankBytes sizes = rank_bytes(what, rank, bytes, request);
    sum += sizes.input + sizes.output;
  }
  return sum;
}

}  // namespace ringside::bench
