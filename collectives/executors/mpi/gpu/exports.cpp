// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/gpu/exports.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <new>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside::mpi {
namespace {

/// How long a rank that ends waits for others to close what is its own; then it is left to the end
/// of the process.
constexpr Seconds longest_wait{5};

std::atomic<std::uint64_t> records_made{0};

}  // namespace

struct Exports::Record {
  std::uint64_t number = 0;  ///< no other of this process has it
  std::uint64_t bytes = 0;
  std::uint64_t at_host = 0;  ///< offset in the owner's segment; 0: memory of its GPU
  Gpu::Handle handle = {};
  /// By which ranks of the world, a bit each.
  std::array<std::atomic<std::uint64_t>, max_proven_ranks / 64> open{};
  std::atomic<bool> retired{false};

  void set_open(int rank, bool is_open) {
    auto& bits = open[static_cast<std::size_t>(rank) / 64];
    const std::uint64_t bit = std::uint64_t{1} << (rank % 64);
    if (is_open)
      bits.fetch_or(bit, std::memory_order_seq_cst);
    else
      bits.fetch_and(~bit, std::memory_order_seq_cst);
  }
  /// Whether a rank has it open whose process has not ended.
  [[nodiscard]] bool is_open(const Team& team) const {
    for (int rank = 0; rank < team.size(); ++rank) {
      const auto& bits = open[static_cast<std::size_t>(rank) / 64];
      if (((bits.load(std::memory_order_seq_cst) >> (rank % 64)) & 1) != 0 && !team.has_died(rank))
        return true;
    }
    return false;
  }
};

Exports::~Exports() {
  // Nothing is its own any more: whoever holds such memory holds this.
  for (auto& [key, opened] : opened_) unmap(opened);
  team_.await_others(longest_wait, [&] {
    std::erase_if(retired_, [&](Own& own) { return free_unused(own); });
    return retired_.empty();
  });
}

std::shared_ptr<std::byte> Exports::allocate(const std::shared_ptr<Exports>& exports,
                                             std::size_t bytes) {
  exports->tidy();
  Own own;
  own.memory = exports->gpu_->allocate(bytes);
  std::byte* const memory = own.memory;
  try {
    return exports->add(exports, std::move(own), bytes);
  } catch (const Error&) {
    exports->gpu_->release(memory);
    throw;
  }
}

std::shared_ptr<std::byte> Exports::allocate_at_host(const std::shared_ptr<Exports>& exports,
                                                     std::size_t bytes) {
  exports->tidy();
  Own own;
  own.host_memory = Arena::allocate(exports->team_.arena(), bytes);
  own.memory = own.host_memory.get();
  exports->gpu_->pin(own.memory, bytes);
  return exports->add(exports, std::move(own), bytes);
}

std::shared_ptr<std::byte> Exports::add(const std::shared_ptr<Exports>& self, Own own,
                                        std::size_t bytes) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  std::byte* const memory = own.memory;
  const std::byte* const segment = team_.arena()->segment().data();
  own.bytes = bytes;
  own.record_memory = Arena::allocate(team_.arena(), sizeof(Record));
  own.record = new (own.record_memory.get()) Record;  // NOLINT: lives in shared memory
  own.record->number = ++records_made;
  own.record->bytes = bytes;
  if (own.host_memory)
    own.record->at_host = static_cast<std::uint64_t>(memory - segment);
  else
    own.record->handle = gpu_->handle_of(memory);
  {
    const std::lock_guard lock(mutex_);
    own_.emplace(memory, std::move(own));
  }
  return {memory, [self](std::byte* gone) { self->retire(gone); }};
}

std::optional<ExportedPlace> Exports::place_of(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  const std::lock_guard lock(mutex_);
  auto next = own_.upper_bound(at);
  if (next == own_.begin()) return std::nullopt;
  const Own& own = std::prev(next)->second;
  if (at >= own.memory + own.bytes) return std::nullopt;
  return ExportedPlace{
      static_cast<std::uint64_t>(own.record_memory.get() - team_.arena()->segment().data()),
      static_cast<std::uint64_t>(at - own.memory)};
}

void Exports::retire(std::byte* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = own_.find(memory);
  Own own = std::move(found->second);
  own_.erase(found);
  own.record->retired.store(true, std::memory_order_seq_cst);
  if (!free_unused(own)) retired_.push_back(std::move(own));
}

bool Exports::free_unused(Own& own) noexcept {
  if (own.record->is_open(team_)) return false;
  if (own.host_memory)
    gpu_->unpin(own.memory);
  else
    gpu_->release(own.memory);
  return true;
}

// --- those of others -----------------------------------------------------------------------------

std::byte* Exports::open(int world_rank, const ExportedPlace& place) {
  const std::lock_guard lock(mutex_);
  if (place.record == 0)
    throw Error(ErrorCode::internal, fmt::format("rank {} has told of no memory", world_rank));
  std::byte* const segment = team_.segment(world_rank).data();
  auto* const record = std::launder(reinterpret_cast<Record*>(segment + place.record));
  Opened& opened = opened_[{world_rank, place.record}];
  if (opened.memory == nullptr || opened.number != record->number) {
    opened = {record, record->number, nullptr, record->at_host != 0};
    map(opened, segment);
  }
  if (opened.memory != nullptr) return opened.memory + place.offset;
  throw Error(ErrorCode::device,
              fmt::format("cannot open the memory of the GPU of {}", team_.describe(world_rank)))
      .with_peer(world_rank);
}

void Exports::map(Opened& opened, std::byte* segment) {
  // First say so, then look: who retires it does it the other way round.
  Record& record = *opened.record;
  record.set_open(team_.rank(), true);
  std::exception_ptr error;
  if (!record.retired.load(std::memory_order_seq_cst))
    error = exception_of([&] {
      if (!opened.at_host) {
        opened.memory = gpu_->open(record.handle);
        return;
      }
      gpu_->pin(segment + record.at_host, record.bytes);
      opened.memory = segment + record.at_host;
    });
  if (opened.memory == nullptr) record.set_open(team_.rank(), false);
  if (error) std::rethrow_exception(error);
}

void Exports::unmap(Opened& opened) noexcept {
  if (opened.memory == nullptr) return;
  if (opened.at_host)
    gpu_->unpin(opened.memory);
  else
    gpu_->close(opened.memory);
  opened.record->set_open(team_.rank(), false);
  opened.memory = nullptr;
}

void Exports::tidy() {
  const std::lock_guard lock(mutex_);
  for (auto at = opened_.begin(); at != opened_.end();) {
    Opened& opened = at->second;
    // What could not be opened counts for nothing, and its record may be gone.
    if (opened.memory != nullptr && !opened.record->retired.load(std::memory_order_acquire)) {
      ++at;
    } else {
      unmap(opened);
      at = opened_.erase(at);
    }
  }
  std::erase_if(retired_, [&](Own& own) { return free_unused(own); });
}

}  // namespace ringside::mpi
