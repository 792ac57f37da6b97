// SPDX-License-Identifier: MIT
/// A world of MPI processes, and its runs.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/backend.hpp"
#include "ringside/collectives/executors/mpi/communicator.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside::mpi {
namespace {

class MpiProcesses final : public Processes {
 public:
  explicit MpiProcesses(std::optional<int> device) : transport_(transport()) {
    if (transport_.size() > max_proven_ranks)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("a world of {} processes: 1 to {} are possible", transport_.size(),
                              max_proven_ranks));
    if (device && option<bool>("checksum"))
      throw Error(ErrorCode::unsupported,
                  "option checksum: not where ranks are processes that have GPUs");
    team_ = std::make_shared<Team>(transport_);
    gpus_ = std::make_shared<Gpus>(*team_, device);
    job_ = std::make_shared<Job>(team_, gpus_);
  }

  ~MpiProcesses() override {
    // A rank may have left its last call before another has opened the memory that the call uses.
    constexpr Seconds longest_wait{1};
    if (gpus_->own() != nullptr) team_->await_kept(longest_wait);
  }
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  [[nodiscard]] int size() const override { return team_->size(); }
  [[nodiscard]] int rank() const override { return team_->rank(); }

  void run(const std::function<void(Communicator&)>& body) override {
    const int rank = team_->rank();
    if (!transport_.any_thread() && std::this_thread::get_id() != maker_)
      throw Error(
          ErrorCode::unsupported,
          fmt::format("{} gives no MPI_THREAD_MULTIPLE: only the thread that made a world of "
                      "processes may run it",
                      transport_.library()))
          .at_rank(rank);
    if (gpus_->own() != nullptr) gpus_->own()->use();
    auto end = make_end();
    MpiCommunicator& own = *end;
    std::optional<Communicator> communicator(std::move(end));
    auto exception = exception_of([&] { body(*communicator); });
    transport_.finalize_at_exit(!exception);
    if (exception) {
      own.end(Error(ErrorCode::aborted,
                    fmt::format("rank {} ended with: {}", rank, words_of(exception)))
                  .with_peer(rank));
    }
    communicator.reset();
    if (exception) std::rethrow_exception(exception);
  }

 private:
  /// A collective.
  [[nodiscard]] std::unique_ptr<MpiCommunicator> make_end() {
    std::vector<int> members(static_cast<std::size_t>(size()));
    std::iota(members.begin(), members.end(), 0);
    auto board = std::make_shared<Board>(team_, std::move(members));
    struct Told {
      BlockOffsets offsets;
      int context;
    };
    const Told mine{board->offsets(), transport_.next_context()};
    std::vector<BlockOffsets> offsets;
    int context = 0;
    for (const Told& told : gathered(transport_, mine)) {
      offsets.push_back(told.offsets);
      context = std::max(context, told.context);
    }
    board->connect(offsets);
    transport_.use_contexts_below(context + 1);
    return std::make_unique<MpiCommunicator>(job_, std::move(board), context);
  }

  Transport& transport_;
  std::thread::id maker_ = std::this_thread::get_id();
  std::shared_ptr<Team> team_;
  std::shared_ptr<const Gpus> gpus_;
  std::shared_ptr<Job> job_;
};

}  // namespace

std::unique_ptr<Processes> make_processes(std::optional<int> device) {
  return std::make_unique<MpiProcesses>(device);
}

}  // namespace ringside::mpi
