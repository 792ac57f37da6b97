// SPDX-License-Identifier: MIT
/// Makes batches on a thread of its own while the last one is computed on.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "ringside/trainer/batch.hpp"

namespace ringside::trainer {

/// Hands out batches in the order in which `make` gives them, which ends with nothing.
class Prefetcher {
 public:
  using Make = std::function<std::optional<Batch>()>;

  /// Keeps up to `ahead` batches; 0: makes each when it is asked for, with no thread.
  Prefetcher(Make make, std::size_t ahead);
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;
  /// Whatever is left is dropped.
  ~Prefetcher();

  /// The next one. Rethrows what `make` threw. Throws Error(internal) behind the last one.
  [[nodiscard]] Batch next();

 private:
  void serve();

  Make make_;
  std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  bool ended_ = false, stopped_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace ringside::trainer
