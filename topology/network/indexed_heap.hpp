// SPDX-License-Identifier: MIT
/// A priority queue of numbered things, each at most once, whose keys may change.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace ringside::network {

/// Where things are in their heap, by number. Heaps that have no thing in common may share it.
class HeapPlaces {
 public:
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);

  std::size_t& operator[](int id) {
    const auto index = static_cast<std::size_t>(id);
    if (index >= places_.size()) places_.resize(index + 1, absent);
    return places_[index];
  }

 private:
  std::vector<std::size_t> places_;
};

/// Smallest key first. Four children a node: half the levels of a binary heap, in one cache line.
template <class Key>
class IndexedHeap {
 public:
  struct Node {
    Key key;
    int id;
  };

  [[nodiscard]] bool empty() const { return nodes_.empty(); }
  [[nodiscard]] const Node& top() const { return nodes_.front(); }
  /// The one that costs least to take out.
  [[nodiscard]] const Node& last() const { return nodes_.back(); }

  /// Puts `id` in, or changes its key.
  void set(int id, const Key& key, HeapPlaces& places) {
    std::size_t place = places[id];
    if (place == HeapPlaces::absent) {
      place = nodes_.size();
      nodes_.push_back({key, id});
    }
    settle(place, {key, id}, places);
  }

  /// Takes `id` out, if it is there.
  void erase(int id, HeapPlaces& places) {
    const std::size_t place = std::exchange(places[id], HeapPlaces::absent);
    if (place == HeapPlaces::absent) return;
    const Node last = nodes_.back();
    nodes_.pop_back();
    if (place < nodes_.size()) settle(place, last, places);
  }

 private:
  static constexpr std::size_t children = 4;

  void put(std::size_t place, const Node& node, HeapPlaces& places) {
    nodes_[place] = node;
    places[node.id] = place;
  }

  /// Moves `node` from a free place to where it belongs.
  void settle(std::size_t place, const Node node, HeapPlaces& places) {
    while (place > 0 && node.key < nodes_[(place - 1) / children].key) {
      put(place, nodes_[(place - 1) / children], places);
      place = (place - 1) / children;
    }
    for (;;) {
      const std::size_t first = place * children + 1;
      if (first >= nodes_.size()) break;
      const std::size_t last = first + children < nodes_.size() ? first + children : nodes_.size();
      std::size_t least = first;
      for (std::size_t child = first + 1; child < last; ++child)
        if (nodes_[child].key < nodes_[least].key) least = child;
      if (!(nodes_[least].key < node.key)) break;
      put(place, nodes_[least], places);
      place = least;
    }
    put(place, node, places);
  }

  std::vector<Node> nodes_;
};

}  // namespace ringside::network
