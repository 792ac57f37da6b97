// SPDX-License-Identifier: MIT
/// Things that nobody may free.
#pragma once

#include <list>
#include <mutex>
#include <utility>

namespace ringside {

/// Keeps a thing until after the last of the process: memory that a device or a peer which did not
/// come back in time may still use. Leak checkers see it as in use.
template <class T>
void keep_for_ever(T thing) {
  struct Kept {
    std::mutex mutex;
    std::list<T> things;
  };
  static Kept& kept = *new Kept;
  const std::lock_guard lock(kept.mutex);
  kept.things.push_back(std::move(thing));
}

}  // namespace ringside
