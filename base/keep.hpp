// SPDX-License-Identifier: MIT
/// Things that nobody may free. Leak checkers see them as in use.
#pragma once

#include <list>
#include <mutex>
#include <utility>

namespace ringside {

/// For a static of a function: never destroyed, since a thread that nobody waits for (an algorithm
/// from outside that does not return) may use it while the process ends.
///     static Registry& registry = never_destroyed<Registry>();
template <class T, class... Arguments>
[[nodiscard]] T& never_destroyed(Arguments&&... arguments) {
  return *new T(std::forward<Arguments>(arguments)...);
}

/// Keeps a thing until after the last of the process: memory that a device or a peer which did not
/// come back in time may still use.
template <class T>
void keep_for_ever(T thing) {
  struct Kept {
    std::mutex mutex;
    std::list<T> things;
  };
  static Kept& kept = never_destroyed<Kept>();
  const std::lock_guard lock(kept.mutex);
  kept.things.push_back(std::move(thing));
}

}  // namespace ringside
