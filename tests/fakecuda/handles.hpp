// SPDX-License-Identifier: MIT
/// Objects behind opaque handles. A handle is a number that is never used again, so a stale one is
/// always recognised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ringside::tests::fakecuda {

/// `Handle` is the pointer type of the runtime's interface, `tag` (1..15) tells kinds of objects
/// apart.
template <class Object, class Handle, std::uintptr_t tag>
class HandleTable {
 public:
  Object& add(std::unique_ptr<Object> object) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number
    object->handle = reinterpret_cast<Handle>((first_ + objects_.size()) << 8 | tag << 4);
    objects_.push_back(std::move(object));
    return *objects_.back();
  }
  /// None for a handle that is unknown, of another kind, or stale.
  [[nodiscard]] Object* find(Handle handle) const {
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    const std::uintptr_t at = (number >> 8) - first_;
    if ((number & 0xff) != tag << 4 || at >= objects_.size()) return nullptr;
    return objects_[at].get();
  }
  void remove(Handle handle) {
    objects_[(reinterpret_cast<std::uintptr_t>(handle) >> 8) - first_].reset();
  }
  void clear() {
    first_ += objects_.size();
    objects_.clear();
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& object : objects_)
      if (object) visit(*object);
  }

 private:
  std::uintptr_t first_ = 0x1000;
  std::vector<std::unique_ptr<Object>> objects_;
};

}  // namespace ringside::tests::fakecuda
