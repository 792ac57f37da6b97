// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/shared.hpp"

#include <set>

namespace ringside::cuda {

Shared::Shared(std::shared_ptr<host::Shared> meeting, std::shared_ptr<const Devices> devices)
    : meeting_(std::move(meeting)),
      devices_(std::move(devices)),
      device_of_rank_(devices_->devices_of(meeting_->members())),
      access_(devices_->access_among(meeting_->members())),
      plans_(access_),
      issuer_(device_of_rank_),
      streams_(device_of_rank_.size()) {
  for (const int device : std::set(device_of_rank_.begin(), device_of_rank_.end()))
    probes_.push_back(Event::on(device));
}

std::optional<Error> Shared::failed_device() const {
  for (const Event& probe : probes_)
    if (const cudaError_t error = cudaEventQuery(probe.get()); error != cudaSuccess)
      return error_of(error, "an operation", probe.device());
  return std::nullopt;
}

void Shared::set_issued(std::uint64_t call, std::optional<Error> refused) {
  refused_[call & 1] = std::move(refused);
  issued_.store(call, std::memory_order_release);
}

std::shared_ptr<Shared> Shared::child(const std::shared_ptr<host::Shared>& meeting) {
  const std::lock_guard lock(children_mutex_);
  std::erase_if(children_, [](const auto& entry) { return entry.second.expired(); });
  auto& entry = children_[meeting.get()];
  auto shared = entry.lock();
  if (!shared) entry = shared = std::make_shared<Shared>(meeting, devices_);
  return shared;
}

}  // namespace ringside::cuda
