// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/shared.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <vector>

namespace ringside::cuda {
namespace {

std::vector<PciAddress> addresses_of(const std::vector<int>& devices) {
  std::vector<PciAddress> addresses;
  for (const int device : devices) {
    constexpr int longest = 32;
    std::array<char, longest> text{};
    check(cudaDeviceGetPCIBusId(text.data(), longest, device), "cudaDeviceGetPCIBusId", device);
    addresses.push_back(parse_pci_address(text.data()).value_or(PciAddress{}));
  }
  return addresses;
}

/// With checksums ranks reach each other by copies alone.
AccessMatrix usable(AccessMatrix access, bool checksum) {
  for (std::size_t a = 0; checksum && a < access.size(); ++a)
    for (std::size_t b = 0; b < access.size(); ++b)
      if (a != b && access[a][b] == Access::direct) access[a][b] = Access::copy_only;
  return access;
}

}  // namespace

Shared::Shared(std::shared_ptr<host::Shared> meeting, std::shared_ptr<const Devices> devices)
    : meeting_(std::move(meeting)),
      devices_(std::move(devices)),
      device_of_rank_(devices_->devices_of(meeting_->members())),
      access_(usable(devices_->access_among(meeting_->members()), meeting_->job().checksum())),
      planned_(devices_->planned()),
      plans_(access_),
      issuer_(device_of_rank_),
      streams_(device_of_rank_.size()) {
  for (const int device : std::set(device_of_rank_.begin(), device_of_rank_.end()))
    probes_.push_back(Event::on(device));
  if (planned_) planned_gpus_ = planned_->gpus_of(device_of_rank_, addresses_of(device_of_rank_));
}

Choice Shared::choice_for(const TuningTable& tuning, int cores, const Request& request,
                          std::size_t bytes) const {
  const ChoiceSetting setting{"cuda", cores};
  if (!planned_) return choose(tuning, setting, request, bytes);
  if (auto measured = choose_measured(tuning, setting, request, bytes)) return *std::move(measured);
  return planned_->choose(planned_gpus_, request, bytes);
}

std::optional<Error> Shared::failed_device() const {
  for (const Event& probe : probes_) {
    const cudaError_t error = cudaEventQuery(probe.get());
    if (error == cudaSuccess) continue;
    std::vector<int> ranks;  // that have this device
    for (int rank = 0; rank < static_cast<int>(device_of_rank_.size()); ++rank)
      if (device_of(rank) == probe.device()) ranks.push_back(rank);
    return error_of(error,
                    fmt::format("an operation on the device of rank{} {}",
                                ranks.size() > 1 ? "s" : "", fmt::join(ranks, ", ")),
                    probe.device())
        .with_peer(ranks.front());
  }
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
