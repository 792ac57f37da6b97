// SPDX-License-Identifier: MIT
#include "ringside/bench/team.hpp"

#include <string>

#include "ringside/base/threads.hpp"

namespace ringside::bench {

Team::Team(World of_ranks, bool pinned)
    : ranks_(of_ranks.size()),
      ranks_here_(of_ranks.ranks_here()),
      first_rank_here_(of_ranks.first_rank_here()),
      cores_(pinned ? allowed_cpus() : std::vector<int>()) {
  host_ = std::thread([this, world = std::move(of_ranks)]() mutable {
    try {
      world.run([this](Communicator& communicator) { stand_by(communicator); });
    } catch (...) {
      // Could not start: whoever waits for a job to end must hear of it.
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      at_work_ = 0;
      over_ = true;
      ends_.notify_all();
    }
  });
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  begins_.notify_all();
  host_.join();
}

void Team::each(const Job& job) {
  std::unique_lock lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  job_ = &job;
  ++number_;
  at_work_ = ranks_here_;
  begins_.notify_all();
  ends_.wait(lock, [this] { return at_work_ == 0; });
  if (error_) std::rethrow_exception(error_);
}

void Team::stand_by(Communicator& communicator) {
  if (!cores_.empty())
    pin_current_thread(cores_[static_cast<std::size_t>(communicator.rank()) % cores_.size()]);
  int done = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    begins_.wait(lock, [&] { return over_ || number_ != done; });
    if (over_) return;
    done = number_;
    const Job& job = *job_;
    lock.unlock();
    std::string why;
    std::exception_ptr error;
    try {
      job(communicator);
    } catch (const std::exception& exception) {
      why = exception.what();
      error = std::current_exception();
    }
    lock.lock();
    if (error && !error_) error_ = error;
    if (error) communicator.abort(why);
    if (--at_work_ == 0) ends_.notify_all();
  }
}

}  // namespace ringside::bench
