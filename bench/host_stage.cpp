// SPDX-License-Identifier: MIT
#include "ringside/bench/host_stage.hpp"

#include <algorithm>
#include <cstring>

#include "ringside/base/cache.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/bench/block_timer.hpp"
#include "ringside/bench/cuda/copy.hpp"
#include "ringside/bench/inputs.hpp"
#include "ringside/bench/machine.hpp"
#include "ringside/bench/timed_call.hpp"
#include "ringside/bench/volume.hpp"
#include "ringside/collectives/executors/mpi/transport.hpp"

namespace ringside::bench {
namespace {

/// From one cold buffer to the next: another page, which no prefetcher has looked at, and another
/// place in it, so that all sets of the caches are used.
std::size_t cold_step(std::size_t length) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t line = 64;
  return (length + page - 1) / page * page + page + line;
}

std::size_t pool_of(const BenchRequest& request, int ranks) {
  if (request.buffers != Buffers::cold) return 0;
  if (request.cold_bytes) return *request.cold_bytes;
  return cold_pool(ranks, allowed_cpu_count(), last_cache_bytes());
}

/// Memory of the processes' GPUs is measured.
bool wants_gpus(const BenchRequest& request) {
  return runs_on_processes(request.backend) && !request.gpus.devices.empty();
}

World world_of(const BenchRequest& request, int ranks) {
  if (!runs_on_processes(request.backend)) return World::threads(ranks);
  if (!wants_gpus(request)) return World::mpi();
  return World::mpi(request.gpus.device_of(mpi::transport().rank()));
}

}  // namespace

std::size_t cold_pool(int ranks, int cores, std::uint64_t last_cache) {
  const auto n = static_cast<std::uint64_t>(ranks);
  return 2 * last_cache * std::min(n, static_cast<std::uint64_t>(cores)) / n;
}

HostStage::HostStage(const Request& what, std::size_t bytes, const BenchRequest& request)
    : Stage(std::make_shared<Team>(world_of(request, what.ranks), request.pin), what,
            request.timeout),
      pool_(pool_of(request, what.ranks)),
      on_gpus_(wants_gpus(request)) {
  const auto n = static_cast<std::size_t>(what.ranks);
  inputs_.resize(n);
  outputs_.resize(n);
  turns_.resize(n);
  team().each([&](Communicator& communicator) {
    const int rank = communicator.rank();
    const auto i = static_cast<std::size_t>(rank);
    const auto [input, output] =
        rank_bytes(what, rank, bytes, request, pool_of(request, what.ranks));
    for (const auto& [buffer, size] :
         {std::pair{&inputs_[i], input}, std::pair{&outputs_[i], output}}) {
      const bool shared = (request.shared_memory || on_gpus_) && size > 0;
      if (shared) buffer->shared = communicator.shared_memory(size);
      if (!shared || on_gpus_) buffer->own = PageBuffer(size);
      std::byte* const at_host = on_gpus_ ? buffer->own.data() : buffer->data();
      std::memset(at_host, 0, buffer->size());
    }
  });
}

std::uint64_t HostStage::bytes_needed(const Request& what, std::size_t bytes,
                                      const BenchRequest& request) {
  double sum = 0;  // a sum of sizes that do not exist must not wrap
  for (int rank = 0; rank < what.ranks; ++rank) {
    const auto [input, output] =
        rank_bytes(what, rank, bytes, request, pool_of(request, what.ranks));
    sum += static_cast<double>(input) + static_cast<double>(output);
  }
  return static_cast<std::uint64_t>(std::min(sum, 0x1p63));
}

Stage::Memory HostStage::memory(int rank, Placement placement, const CallShape& shape,
                                std::size_t element_bytes, std::uint64_t turn) {
  const auto i = static_cast<std::size_t>(rank);
  const bool in_place = placement == Placement::in_place;
  const auto place = [&](const Room& buffer, std::size_t length) {
    if (pool_ == 0) return buffer.data();
    const std::size_t step = cold_step(length * element_bytes);
    return buffer.data() + turn % (pool_ / step + 1) * step;
  };
  std::byte* const output = place(outputs_[i], shape.memory(in_place));
  std::byte* const input = in_place ? output : place(inputs_[i], shape.input);
  return {input + shape.input_at * element_bytes, output + shape.output_at * element_bytes};
}

Stage::Memory HostStage::memory_at_host(int rank, Placement placement, const CallShape& shape,
                                        std::size_t element_bytes) {
  if (!on_gpus_) return memory(rank, placement, shape, element_bytes);
  const auto i = static_cast<std::size_t>(rank);
  const auto& input = placement == Placement::in_place ? outputs_[i] : inputs_[i];
  return {input.own.data() + shape.input_at * element_bytes,
          outputs_[i].own.data() + shape.output_at * element_bytes};
}

void HostStage::fill_with_ones(ElementType type, std::uint64_t count) {
  const std::size_t element = size_of(type);
  const std::uint64_t one = bits_of_one(type);
  const Collective collective = request(Placement::out_of_place).collective;
  const bool whole_pool = pool_ > 0 && pool_type_ != type;
  team().each([&](Communicator& communicator) {
    const int rank = communicator.rank();
    const auto i = static_cast<std::size_t>(rank);
    for (const auto placement : placements) {
      if (placement == Placement::in_place && !can_be_in_place(collective)) continue;
      const bool in_place = placement == Placement::in_place;
      const CallShape shape = call_shape(request(placement), rank, count);
      for (const auto& [buffer, length] : {std::pair{&inputs_[i], in_place ? 0 : shape.input},
                                           std::pair{&outputs_[i], shape.memory(in_place)}}) {
        const std::size_t held = buffer->size() / element;
        const std::size_t filled = whole_pool ? held : std::min(length, held);
        std::byte* const at_host = on_gpus_ ? buffer->own.data() : buffer->data();
        fill_with(at_host, filled, &one, element);
        if (on_gpus_ && filled > 0) copy_with_gpu(buffer->data(), at_host, filled * element);
      }
    }
  });
  pool_type_ = type;
}

BlockTimes HostStage::time(const Cell& cell, const Block& block, const CallOptions& options) {
  return time_on(
      *this, cell, block, options,
      [](Communicator& communicator, const Arguments& arguments, const CallOptions& call_options) {
        communicator.submit(arguments, call_options);
      });
}

Seconds HostStage::shortest_sample() const { return clock_sample; }

void HostStage::run(int rank, const CheckedCall& call, const CallOptions& options) {
  const Memory where = memory(rank, call.placement, call.shape, call.element_bytes);
  const Memory at_host = memory_at_host(rank, call.placement, call.shape, call.element_bytes);
  const auto copy_all = [&](const Memory& to, const Memory& from) {
    if (!on_gpus_) return;
    const auto copy = [&](std::byte* target, const std::byte* source, std::size_t elements) {
      if (elements > 0) copy_with_gpu(target, source, elements * call.element_bytes);
    };
    copy(to.output, from.output, call.shape.output);
    copy(to.input, from.input, call.shape.input);
  };
  call.write(at_host);
  copy_all(where, at_host);
  call.call(where, options);
  copy_all(at_host, where);
  call.read(at_host);
}

}  // namespace ringside::bench
