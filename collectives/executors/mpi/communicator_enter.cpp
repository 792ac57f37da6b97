// SPDX-License-Identifier: MIT
/// How a rank enters a call: what it publishes, and what all come to when everybody has.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "ringside/collectives/executors/host/agreement.hpp"
#include "ringside/collectives/executors/mpi/communicator.hpp"
#include "ringside/collectives/layout.hpp"

namespace ringside::mpi {
namespace {

/// Bytes of a rank's input or output.
std::size_t bytes_of(const Call& call, int rank, int ranks, Buffer buffer) {
  return elements_in(call.blocks, blocks_in(call.request(ranks, false), rank, buffer)) *
         size_of(call.type);
}

}  // namespace

// --- what it publishes ---------------------------------------------------------------------------

Memory MpiCommunicator::memory_of(const std::byte* buffer) const {
  if (gpu_ != nullptr && job_->gpus().exports()->place_of(buffer)) return Memory::shared_gpu;
  if (gpu_ != nullptr && gpu_->reaches(buffer)) return Memory::gpu;
  return board_->team().arena()->segment().contains(buffer) ? Memory::shared : Memory::apart;
}

Memory MpiCommunicator::memory_of(const Call& call) const {
  if (call.collective == Collective::barrier) return Memory::apart;
  Memory all = Memory::none;
  const std::byte* const output = call.output;
  for (const auto& [at, buffer] :
       {std::pair{call.input, Buffer::input}, std::pair{output, Buffer::output}}) {
    if (bytes_of(call, rank(), size(), buffer) == 0) continue;
    const Memory memory = memory_of(at);
    if (all != Memory::none && is_gpus(all) != is_gpus(memory))
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the {} of rank {} is memory of its GPU, its {} is not",
                              is_gpus(memory) ? "output" : "input", rank(),
                              is_gpus(memory) ? "input" : "output"))
          .at_rank(rank());
    // Of two, what others reach less.
    all = all == Memory::none ? memory : std::min(all, memory);
  }
  return all;
}

Where MpiCommunicator::place(const Call& call, const Prepared& prepared, Memory memory) {
  const std::uint64_t number = call_ + 1;
  own_ = {call.input, call.output, nullptr, nullptr};
  Where where{.memory = memory};
  const auto set_exported = [&](std::uint32_t which, const std::byte* at) {
    if (const auto place = job_->gpus().exports()->place_of(at)) where.exported[which] = *place;
  };
  if (prepared.scratch_bytes > 0)
    where.scratch = board_->offset_of(board_->scratch(number, prepared.scratch_bytes));
  if (prepared.gpu_scratch_bytes > 0 || prepared.pinned_bytes > 0) {
    const auto& exports = job_->gpus().exports();
    exports->tidy();
    if (prepared.gpu_scratch_bytes > 0)
      own_.gpu_scratch = board_->gpu_scratch(number, prepared.gpu_scratch_bytes, exports);
    if (prepared.pinned_bytes > 0)
      own_.pinned_scratch = board_->pinned_scratch(number, prepared.pinned_bytes, exports);
    set_exported(host::base_index(0, Buffer::scratch), own_.gpu_scratch);
    set_exported(host::host_scratch_index(0), own_.pinned_scratch);
  }
  if (memory == Memory::shared_gpu) {
    set_exported(host::base_index(0, Buffer::input), call.input);
    set_exported(host::base_index(0, Buffer::output), call.output);
  } else if (memory == Memory::shared || memory == Memory::apart) {
    const auto place = [&](const std::byte* at) {
      if (at == nullptr) return std::uint64_t{0};
      return memory == Memory::shared ? board_->offset_of(at) : reinterpret_cast<std::uint64_t>(at);
    };
    where.input = place(call.input);
    where.output = place(call.output);
  }
  // Only now can nothing go wrong any more.
  if (prepared.small && is_gpus(memory) && prepared.small->input_bytes() > 0)
    gpu_->copy(board_->entry(rank(), number).message, call.input, prepared.small->input_bytes());
  return where;
}

void MpiCommunicator::publish(const Call& call, const host::SignedCall& signed_call,
                              const host::SmallMessage* small, const Where& where) {
  ++call_;
  if (call_ % host::calls_between_moves == 0)
    for (int stream = 0; stream < most_streams; ++stream)
      board_->progress(rank(), stream).store(host::progress(call_, 0), std::memory_order_release);

  Entry& mine = board_->entry(rank(), call_);
  const std::size_t bytes = small != nullptr ? small->input_bytes() : 0;
  if (std::uint64_t& published = published_[call_ & 1]; published != signed_call.digest) {
    mine.set_signature(signed_call, bytes);
    published = signed_call.digest;
  }
  if (small == nullptr)
    mine.where = where;
  else if (bytes > 0 && !is_gpus(where.memory))
    std::memcpy(mine.message, call.input, bytes);
  memory_ = where.memory;
  first_late_ = 0;
  mine.call.store(call_, std::memory_order_release);
}

bool MpiCommunicator::all_entered() {
  const bool moved = board_->one_host() || !board_->leads() || exchange_.move_entries(call_);
  while (first_late_ < others_.size() && entered(others_[first_late_])) ++first_late_;
  return moved && first_late_ == others_.size();
}

// --- what all come to ----------------------------------------------------------------------------

Placement MpiCommunicator::agree() const {
  const std::uint64_t digest = published_[call_ & 1];
  if (std::all_of(others_.begin(), others_.end(),
                  [&](int peer) { return board_->entry(peer, call_).digest == digest; }))
    return host::placement_of(digest);
  std::vector<host::Signature> signatures;
  std::vector<host::PublishedCall> published;
  for (int peer = 0; peer < size(); ++peer) {
    const Entry& entry = board_->entry(peer, call_);
    signatures.push_back(entry.signature);
    signatures.back().spec = entry.spec.data();
    published.push_back({entry.digest, nullptr});
  }
  for (std::size_t i = 0; i < published.size(); ++i) published[i].signature = &signatures[i];
  return host::agreed_placement(published, rank(), call_);  // none has touched a buffer
}

Reach MpiCommunicator::agreed_reach(const Prepared& prepared) const {
  std::optional<int> of_gpu, of_host;  // the first such rank
  bool all_shared = true;
  for (int peer = 0; peer < size(); ++peer) {
    const Memory memory = board_->entry(peer, call_).where.memory;
    if (memory == Memory::none) continue;
    auto& first = is_gpus(memory) ? of_gpu : of_host;
    if (!first) first = peer;
    if (memory == Memory::apart || memory == Memory::gpu) all_shared = false;
  }
  if (of_gpu && (of_host || !plans_.on_gpus()))  // none has touched a buffer
    throw Error(ErrorCode::mismatch,
                of_host
                    ? fmt::format("ranks gave different memory (call {}): the buffers of rank {} "
                                  "are of its GPU, those of rank {} are of the host",
                                  call_, *of_gpu, *of_host)
                    : fmt::format("buffers of rank {} are memory of its GPU, and not all ranks "
                                  "have one (call {})",
                                  *of_gpu, call_))
        .at_rank(rank());
  if (of_gpu) return all_shared ? Reach::gpu_shared : Reach::gpu_staged;
  return all_shared ? Reach::shared : prepared.with_private;
}

void MpiCommunicator::fold_messages(const Call& call, const host::SmallMessage& message) {
  if (!is_gpus(memory_)) {
    message.fold(sources_.data(), call.output, [&](int peer) {
      return peer == rank() ? call.input : board_->entry(peer, call_).message;
    });
    return;
  }
  folded_.resize(bytes_of(call, rank(), size(), Buffer::output));
  message.fold(sources_.data(), folded_.data(),
               [&](int peer) -> const std::byte* { return board_->entry(peer, call_).message; });
  if (folded_.empty()) return;
  try {
    gpu_->copy(call.output, folded_.data(), folded_.size());
  } catch (const Error& error) {
    end(error);
    throw;
  }
}

}  // namespace ringside::mpi
