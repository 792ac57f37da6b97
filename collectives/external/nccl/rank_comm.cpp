// SPDX-License-Identifier: MIT
#include "ringside/collectives/external/nccl/rank_comm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "ringside/base/clock.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"

namespace ringside::nccl {
namespace {

/// The first device that several ranks are on.
std::optional<int> shared_device(std::vector<int> devices) {
  std::sort(devices.begin(), devices.end());
  const auto twice = std::adjacent_find(devices.begin(), devices.end());
  return twice == devices.end() ? std::nullopt : std::optional(*twice);
}

void refuse_shared_devices(const Library& library, const std::vector<int>& devices) {
  const auto shared = shared_device(devices);
  if (shared && !library.version().at_least(2, 30))
    throw Error(ErrorCode::unsupported,
                fmt::format("{} takes one rank a device, and device {} is asked for more than once "
                            "(from 2.30 on it takes several if NCCL_MULTI_RANK_GPU_ENABLE=1 is "
                            "set)",
                            library.name(), *shared));
}

Error refusal(const Library& library, Result result, const std::vector<int>& devices) {
  // What has no GPU, no driver, or a driver too old shows as this one; NCCL's words say which.
  if (result == Result::unhandled_cuda_error)
    return {ErrorCode::unsupported,
            fmt::format("{} finds no usable device: {}", library.name(), library.words(result))};
  return {
      ErrorCode::device,
      fmt::format("{} cannot start on device{} {}: {}{}", library.name(),
                  devices.size() > 1 ? "s" : "", fmt::join(devices, ", "), library.words(result),
                  shared_device(devices)
                      ? "; several ranks on a device need NCCL_MULTI_RANK_GPU_ENABLE=1"
                      : "")};
}

/// Where NCCL is told by its environment not to block.
Result settled(const Library& library, const std::vector<std::shared_ptr<RankComm>>& ranks) {
  const Stopwatch watch;
  const auto limit = option<Seconds>("timeout");
  Result state = Result::success;
  for (const auto& rank : ranks) {
    do {
      if (const Result asked = library.call().comm_get_async_error(rank->get(), &state);
          asked != Result::success)
        return asked;
      if (state == Result::in_progress) {
        if (watch.elapsed() > limit)
          throw Error(ErrorCode::timeout, fmt::format("{} is not ready after {}", library.name(),
                                                      format_duration(limit)));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    } while (state == Result::in_progress);
    if (state != Result::success) return state;
  }
  return state;
}

}  // namespace

Error error_of(const Library& library, Result result, const char* function, Comm comm) {
  return {ErrorCode::device,
          fmt::format("{}: {}: {}", library.name(), function, library.words(result, comm))};
}

RankComm::~RankComm() {
  // Who refuses to go in peace is made to go.
  if (comm_ != nullptr && library_->call().comm_destroy(comm_) != Result::success) abort();
}

void RankComm::abort() noexcept {
  if (comm_ != nullptr) (void)library_->call().comm_abort(std::exchange(comm_, nullptr));
}

std::vector<std::shared_ptr<RankComm>> start(const std::shared_ptr<const Library>& library,
                                             const std::vector<int>& devices) {
  refuse_shared_devices(*library, devices);
  std::vector<Comm> comms(devices.size());
  Result result =
      library->call().comm_init_all(comms.data(), static_cast<int>(devices.size()), devices.data());
  std::vector<std::shared_ptr<RankComm>> ranks;
  for (std::size_t rank = 0; rank < devices.size(); ++rank)
    ranks.push_back(std::make_shared<RankComm>(library, comms[rank], devices[rank]));
  try {
    if (result == Result::in_progress) result = settled(*library, ranks);
    if (result != Result::success) throw refusal(*library, result, devices);
  } catch (...) {
    for (const auto& rank : ranks) rank->abort();
    throw;
  }
  return ranks;
}

}  // namespace ringside::nccl
