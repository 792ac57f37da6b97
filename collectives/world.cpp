// SPDX-License-Identifier: MIT
#include "ringside/collectives/world.hpp"

#include <fmt/format.h>

#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/backend.hpp"
#include "ringside/collectives/executors/host/communicator.hpp"
#include "ringside/collectives/executors/host/job.hpp"
#include "ringside/collectives/executors/host/shared.hpp"
#include "ringside/collectives/group_notes.hpp"
#include "ringside/collectives/plan_cache.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside {
namespace {

// Nothing unproven runs, and more ranks are not proven.
constexpr int most_threads = max_proven_ranks;

void check_size(std::size_t ranks, const char* what) {
  if (ranks < 1 || ranks > static_cast<std::size_t>(most_threads))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a world of {} {}: 1 to {} are possible", ranks, what, most_threads));
}

}  // namespace

std::string words_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "something that is no std::exception";
  }
}

class World::Implementation {
 public:
  Implementation(int ranks, std::unique_ptr<Backend> backend)
      : ranks_(ranks), backend_(std::move(backend)) {}

  explicit Implementation(std::unique_ptr<ringside::mpi::Processes> processes)
      : ranks_(processes->size()), processes_(std::move(processes)) {}

  [[nodiscard]] int size() const { return ranks_; }
  /// Null where ranks are threads.
  [[nodiscard]] const ringside::mpi::Processes* processes() const { return processes_.get(); }

  void run(const std::function<void(Communicator&)>& body) {
    if (processes_)
      processes_->run([&](Communicator& communicator) {
        body(communicator);
        detail::refuse_open_groups(communicator.rank());
        communicator.finish();
      });
    else
      run_threads(body);
  }

 private:
  void run_threads(const std::function<void(Communicator&)>& body) {
    const auto job = std::make_shared<host::Job>(ranks_);
    std::vector<int> members(static_cast<std::size_t>(ranks_));
    std::iota(members.begin(), members.end(), 0);
    const auto shared = std::make_shared<host::Shared>(members, plans_, job);
    job->add(shared);
    const auto make_end = backend_->begin(shared);
    std::mutex mutex;
    std::exception_ptr first;

    const auto run_rank = [&](int rank) {
      name_current_thread(fmt::format("rank {}", rank));
      // Its communicator goes, and thereby waits for what is outstanding, before the rank has
      // ended; but after a failure nobody shall wait for it any more.
      std::optional<Communicator> communicator;
      std::optional<Error> why;
      if (auto exception = exception_of([&] {
            communicator.emplace(make_end(rank));
            body(*communicator);
            detail::refuse_open_groups(rank);
            communicator->finish();
          })) {
        why.emplace(ErrorCode::aborted,
                    fmt::format("rank {} ended with: {}", rank, words_of(exception)));
        {
          const std::lock_guard lock(mutex);
          if (!first) first = std::move(exception);
        }
        job->ended(rank, why);
      }
      communicator.reset();
      if (!why) job->ended(rank, why);
    };

    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(ranks_));
    try {
      for (int rank = 0; rank < ranks_; ++rank) threads.emplace_back(run_rank, rank);
    } catch (const std::exception& error) {
      const Error cause(ErrorCode::io, fmt::format("cannot start a thread for rank {}: {}",
                                                   threads.size(), error.what()));
      for (int rank = static_cast<int>(threads.size()); rank < ranks_; ++rank)
        job->ended(rank, cause);
      threads.clear();  // joins
      throw cause;
    }
    threads.clear();
    if (first) std::rethrow_exception(first);
  }

  int ranks_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<ringside::mpi::Processes> processes_;
  PlanCache plans_;
};

World::World(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;
World::~World() = default;

World World::threads(int ranks) {
  if (ranks < 1) check_size(0, "threads");
  check_size(static_cast<std::size_t>(ranks), "threads");
  return World(std::make_unique<Implementation>(ranks, make_host_backend()));
}

World World::cuda(const std::vector<int>& devices) {
  check_size(devices.size(), "GPU ranks");
  return World(std::make_unique<Implementation>(static_cast<int>(devices.size()),
                                                cuda::make_backend(devices)));
}

World World::nccl(const std::vector<int>& devices) {
  check_size(devices.size(), "GPU ranks");
  return World(std::make_unique<Implementation>(static_cast<int>(devices.size()),
                                                nccl::make_backend(devices)));
}

World World::mpi(std::optional<int> device) {
  return World(std::make_unique<Implementation>(ringside::mpi::make_processes(device)));
}

int World::size() const { return implementation_->size(); }
int World::ranks_here() const { return implementation_->processes() != nullptr ? 1 : size(); }
int World::first_rank_here() const {
  const auto* processes = implementation_->processes();
  return processes != nullptr ? processes->rank() : 0;
}

void World::run(const std::function<void(Communicator&)>& body) { implementation_->run(body); }

}  // namespace ringside
