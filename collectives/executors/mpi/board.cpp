// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/board.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <string_view>
#include <utility>

namespace ringside::mpi {
namespace {

template <std::size_t size>
void store_text(std::array<char, size>& to, std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::copy_n(text.begin(), length, to.begin());
  to[length] = '\0';
}

}  // namespace

void Entry::set_signature(const host::SignedCall& signed_call, std::size_t its_message_bytes) {
  signature = signed_call.signature;
  signature.spec = nullptr;
  store_text(spec, signed_call.signature.spec);
  digest = signed_call.digest;
  message_bytes = its_message_bytes;
}

void PlanningNote::set(const std::string& algorithm) {
  const std::size_t length = std::min(algorithm.size(), words_.size());
  length_.store(0, std::memory_order_release);
  for (std::size_t i = 0; i < length; ++i) words_[i].store(algorithm[i], std::memory_order_relaxed);
  length_.store(length, std::memory_order_release);
}

std::string PlanningNote::get() const {
  std::string algorithm(length_.load(std::memory_order_acquire), '\0');
  for (std::size_t i = 0; i < algorithm.size(); ++i)
    algorithm[i] = words_[i].load(std::memory_order_relaxed);
  return algorithm;
}

bool FailureRecord::store(const Error& cause) {
  if (claimed.exchange(true)) return false;
  code = static_cast<int>(cause.code());
  rank = cause.rank().value_or(-1);
  peer = cause.peer().value_or(-1);
  step = cause.step().value_or(-1);
  store_text(words, cause.what());
  set.store(true, std::memory_order_release);
  return true;
}

Error FailureRecord::cause() const {
  Error error(static_cast<ErrorCode>(code), words.data());
  if (rank >= 0) error.at_rank(rank);
  if (peer >= 0) error.with_peer(peer);
  if (step >= 0) error.at_step(step);
  return error;
}

Board::Board(std::shared_ptr<Team> team, std::vector<int> members)
    : team_(std::move(team)), members_(std::move(members)), own_closed_(team_->new_flag()) {
  const auto own = std::find(members_.begin(), members_.end(), team_->rank());
  rank_ = static_cast<int>(own - members_.begin());
  std::map<int, std::vector<int>> by_host;
  for (int rank = 0; rank < ranks(); ++rank) by_host[team_->host_of(member(rank))].push_back(rank);
  near_ = by_host.extract(team_->host_of(team_->rank())).mapped();
  for (auto& [host, ranks] : by_host) far_hosts_.push_back(std::move(ranks));

  own_block_ = Arena::allocate(team_->arena(), sizeof(RankBlock));
  new (own_block_.get()) RankBlock;  // NOLINT: lives in shared memory
  if (!leads()) return;
  own_host_block_ = Arena::allocate(team_->arena(), host_block_bytes(ranks()));
  new (own_host_block_.get()) HostBlock;
  auto* entries =
      reinterpret_cast<std::array<Entry, 2>*>(own_host_block_.get() + sizeof(HostBlock));
  for (const auto& ranks : far_hosts_)
    for (const int rank : ranks) new (entries + rank) std::array<Entry, 2>;
}

Board::~Board() {
  if (host_block_ == nullptr) return;  // never connected: nobody looks
  team_->flag(team_->rank(), own_closed_).store(true, std::memory_order_release);
  // Others may still look at what is here.
  std::vector<std::shared_ptr<std::byte>> memory = {std::move(own_block_),
                                                    std::move(own_host_block_)};
  for (Scratch* scratch : {&scratch_, &gpu_scratch_, &pinned_scratch_}) scratch->move_to(memory);
  team_->keep(std::move(memory), std::move(closed_));
}

BlockOffsets Board::offsets() const {
  return {offset_of(own_block_.get()), own_host_block_ ? offset_of(own_host_block_.get()) : 0,
          own_closed_};
}

void Board::connect(const std::vector<BlockOffsets>& of_all) {
  const auto at = [&](int rank) { return of_all[static_cast<std::size_t>(rank)]; };
  auto* const host_block = address(near_.front(), at(near_.front()).host_block);
  auto* const far_entries = reinterpret_cast<std::array<Entry, 2>*>(host_block + sizeof(HostBlock));
  blocks_.resize(members_.size());
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    if (is_near(rank)) {
      blocks_[i] = reinterpret_cast<RankBlock*>(address(rank, at(rank).rank_block));
      closed_.push_back(&team_->flag(member(rank), at(rank).closed));
    }
    entries_.push_back(is_near(rank) ? &blocks_[i]->entries : far_entries + rank);
  }
  host_block_ = reinterpret_cast<HostBlock*>(host_block);
}

Error failed_before(const Board& board) {
  return host::failed_before(board.failure().cause(), board.rank());
}

void throw_if_failed(const Board& board) {
  if (board.failure().set.load(std::memory_order_acquire)) throw failed_before(board);
}

std::uint64_t Board::offset_of(const void* address) const {
  return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) -
                                    team_->arena()->segment().data());
}

}  // namespace ringside::mpi
