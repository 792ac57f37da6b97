// SPDX-License-Identifier: MIT
/// What a rank keeps of a call in order to make it again, found by the call's arguments.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ringside/collectives/call.hpp"

namespace ringside {

/// The arguments of a call but for addresses and contents, and the spec string that it names.
class CallKey {
 public:
  CallKey(const Call& call, std::string_view asked)
      : kind_(kind_of(call)),
        scalar_(scalar_of(call)),
        first_length_(first_length_of(call)),
        blocks_(call.blocks.begin(), call.blocks.end()),
        asked_(asked) {}

  [[nodiscard]] bool matches(const Call& call, std::string_view asked) const {
    return kind_ == kind_of(call) && scalar_ == scalar_of(call) &&
           first_length_ == first_length_of(call) && blocks_.size() == call.blocks.size() &&
           asked_.size() == asked.size() && (asked.empty() || asked_ == asked) &&
           (blocks_.size() <= 1 ||
            std::equal(blocks_.begin(), blocks_.end(), call.blocks.begin(), call.blocks.end()));
  }

  /// Of what mostly tells calls apart: quick.
  [[nodiscard]] static std::size_t quick_hash(const Call& call) {
    return ((kind_of(call) * 31 + first_length_of(call)) * 0x9e3779b97f4a7c15ULL) >> 32;
  }
  /// Of everything: lists that change from call to call often begin alike, and so do calls whose
  /// scalar or algorithm changes.
  [[nodiscard]] static std::size_t full_hash(const Call& call, std::string_view asked) {
    std::size_t hash = kind_of(call);
    const auto mix = [&](std::size_t word) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 32;
    };
    mix(scalar_of(call));
    mix(std::hash<std::string_view>()(asked));
    for (const auto length : call.blocks) mix(length);
    return hash;
  }

  /// Of what is allocated for it.
  [[nodiscard]] std::size_t bytes() const {
    return blocks_.capacity() * sizeof(std::size_t) + asked_.capacity();
  }

 private:
  /// All that a call says in small numbers.
  [[nodiscard]] static std::uint64_t kind_of(const Call& call) {
    return static_cast<std::uint64_t>(call.root) << 32 |
           static_cast<std::uint64_t>(call.collective) << 24 |
           static_cast<std::uint64_t>(call.type) << 16 | static_cast<std::uint64_t>(call.op) << 8 |
           static_cast<std::uint64_t>(call.placement);
  }
  /// The bits of the scalar where there is one.
  [[nodiscard]] static std::uint64_t scalar_of(const Call& call) {
    return call.op == ReduceOp::premul_sum ? std::bit_cast<std::uint64_t>(call.options->scalar) : 0;
  }
  [[nodiscard]] static std::size_t first_length_of(const Call& call) {
    return call.blocks.empty() ? 0 : call.blocks.front();
  }

  std::uint64_t kind_;
  std::uint64_t scalar_;
  std::size_t first_length_;  // of blocks: mostly there is no other
  std::vector<std::size_t> blocks_;
  std::string asked_;
};

/// Values by call. `Value::bytes()` says what is allocated for one. Forgets all of them when they
/// take more memory than they should.
template <class Value>
class CallCache {
 public:
  /// For one of so many ranks of a communicator: they share what memory may be taken.
  explicit CallCache(int ranks)
      : most_bytes_(std::clamp(most_bytes_of_all / static_cast<std::size_t>(ranks), least_limit,
                               most_limit)) {}

  /// The value for such a call, made by `make` the first time. `asked` is the spec string that the
  /// call names, if it names one. The reference stays valid until the next call of this.
  template <class Make>
  Value& get(const Call& call, std::string_view asked, Make&& make) {
    Entry*& recent = recent_[CallKey::quick_hash(call) % recent_.size()];
    if (recent == nullptr || !recent->key.matches(call, asked)) {
      recent = find(call, asked);
      if (recent == nullptr) recent = add(call, asked, make());
    }
    return recent->value;
  }

 private:
  // Of a communicator, and of one rank at least and at most. Programs of many ranks and slices are
  // long; a trainer makes some hundred different calls.
  static constexpr std::size_t most_bytes_of_all = std::size_t{256} << 20;
  static constexpr std::size_t least_limit = std::size_t{4} << 20;
  static constexpr std::size_t most_limit = std::size_t{64} << 20;
  // What an entry takes beside itself: nodes of the map, what the allocator adds.
  static constexpr std::size_t bytes_beside = 256;

  struct Entry {
    CallKey key;
    Value value;
  };

  Entry* find(const Call& call, std::string_view asked) {
    const auto [begin, end] = entries_.equal_range(CallKey::full_hash(call, asked));
    for (auto entry = begin; entry != end; ++entry)
      if (entry->second->key.matches(call, asked)) return entry->second.get();
    return nullptr;
  }

  Entry* add(const Call& call, std::string_view asked, Value value) {
    auto entry = std::make_unique<Entry>(Entry{CallKey(call, asked), std::move(value)});
    const std::size_t bytes =
        sizeof(Entry) + bytes_beside + entry->key.bytes() + entry->value.bytes();
    if (bytes_ + bytes > most_bytes_) {
      recent_ = {};
      entries_.clear();
      bytes_ = 0;
    }
    bytes_ += bytes;
    return entries_.emplace(CallKey::full_hash(call, asked), std::move(entry))->second.get();
  }

  std::array<Entry*, 64> recent_ = {};                                    // by quick hash
  std::unordered_multimap<std::size_t, std::unique_ptr<Entry>> entries_;  // by full hash
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
};

}  // namespace ringside
