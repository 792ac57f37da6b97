// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/graph_cache.hpp"

#include <algorithm>

namespace ringside::cuda {
namespace {

/// Calls that are remembered: some 40 bytes each.
constexpr std::size_t most_remembered = 1 << 14;

}  // namespace

std::size_t GraphCache::Hash::operator()(const Key& key) const {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, a word at a time, and mixed
  for (const std::uint64_t word : key) {
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 29;
  }
  return hash;
}

cudaGraphExec_t GraphCache::get(std::uint64_t program, std::span<const RankCall> ranks,
                                const Make& make) {
  if (calls_before_ == 0) return nullptr;
  ++calls_;
  Key key = {program};
  for (const auto& rank : ranks) {
    key.push_back(reinterpret_cast<std::uintptr_t>(rank.input));
    key.push_back(reinterpret_cast<std::uintptr_t>(rank.output));
  }
  if (const auto known = graphs_.find(key); known != graphs_.end()) {
    recent_.splice(recent_.begin(), recent_, known->second);
    known->second->last = calls_;
    return known->second->graph.get();
  }
  const std::size_t hash = Hash()(key);
  if (made_.size() >= most_remembered && !made_.contains(hash)) forget_the_oldest();
  Made& made = made_[hash];
  const std::uint64_t last_made = made.last;
  made.last = calls_;
  if (++made.times < calls_before_ || !has_room_for(last_made)) return nullptr;
  GraphExec graph = make();
  if (recent_.size() == most_) {
    // It may become a graph again as soon as it is made more often than another one.
    made_[Hash()(recent_.back().key)] = {calls_before_, recent_.back().last};
    graphs_.erase(recent_.back().key);
    recent_.pop_back();
  }
  made_.erase(hash);
  recent_.push_front({key, std::move(graph), calls_});
  graphs_.emplace(std::move(key), recent_.begin());
  return recent_.front().graph.get();
}

/// A graph goes only for a call that was made twice since the graph was used: buffers in turn, more
/// than there is room for, would otherwise each time take the place of the next.
bool GraphCache::has_room_for(std::uint64_t last_made) const {
  return recent_.size() < most_ || last_made > recent_.back().last;
}

void GraphCache::forget_the_oldest() {
  std::vector<std::uint64_t> last;
  for (const auto& [hash, made] : made_) last.push_back(made.last);
  const auto middle = last.begin() + static_cast<std::ptrdiff_t>(last.size() / 2);
  std::nth_element(last.begin(), middle, last.end());
  std::erase_if(made_, [&](const auto& entry) { return entry.second.last < *middle; });
}

}  // namespace ringside::cuda
