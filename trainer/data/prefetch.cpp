// SPDX-License-Identifier: MIT
#include "ringside/trainer/data/prefetch.hpp"

#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/threads.hpp"

namespace ringside::trainer {

Prefetcher::Prefetcher(Make make, std::size_t ahead) : make_(std::move(make)), ahead_(ahead) {
  if (ahead_ > 0) thread_ = std::thread([this] { serve(); });
}

Prefetcher::~Prefetcher() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Batch Prefetcher::next() {
  const auto behind_the_last = [] {
    return Error(ErrorCode::internal, "a batch is asked for behind the last one");
  };
  if (ahead_ == 0) {
    auto batch = make_();
    if (!batch) throw behind_the_last();
    return std::move(*batch);
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || ended_; });
  if (ready_.empty()) {
    if (error_) std::rethrow_exception(error_);
    throw behind_the_last();
  }
  Batch batch = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return batch;
}

void Prefetcher::serve() {
  name_current_thread("prefetch");
  std::exception_ptr error = exception_of([this] {
    while (auto batch = make_()) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ready_.size() < ahead_ || stopped_; });
      if (stopped_) return;
      ready_.push_back(std::move(*batch));
      lock.unlock();
      changed_.notify_all();
    }
  });
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace ringside::trainer
