// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/devices.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/keep.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/executors/cuda/waiting.hpp"
#include "ringside/collectives/reduction/cuda/device_fold.hpp"

namespace ringside::cuda {
namespace {

constexpr std::size_t words = 1024;
constexpr std::size_t bytes = words * sizeof(std::uint64_t);

/// Words that no other pair of devices, place or direction has.
std::vector<std::uint64_t> pattern(int from, int to, int way) {
  std::vector<std::uint64_t> pattern(words);
  std::uint64_t word =
      0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>((from * 64 + to) * 4 + way + 1);
  for (auto& entry : pattern) {
    word ^= word << 13, word ^= word >> 7, word ^= word << 17;
    entry = word;
  }
  return pattern;
}

/// Memory of both devices, and a stream of the one that acts.
class Trial {
 public:
  Trial(int from, int to)
      : from_(from),
        to_(to),
        near_(DeviceMemory::on(from, bytes)),
        far_(DeviceMemory::on(to, bytes)),
        stream_(Stream::on(from)),
        fold_(resolve_device_fold({.type = ElementType::uint64})) {}

  /// Whether `store` brings a pattern from near to far.
  template <class Move>
  [[nodiscard]] bool stores(int way, Move&& move) {
    return carries(near_.data(), far_.data(), way, move);
  }
  template <class Move>
  [[nodiscard]] bool loads(int way, Move&& move) {
    return carries(far_.data(), near_.data(), way, move);
  }

  void by_kernel(const std::byte* source, std::byte* destination) {
    check(fold_.launch(&source, &destination, words, stream_.get()), "kernel launch", from_);
  }
  void by_copy(const std::byte* source, std::byte* destination) {
    const bool outward = source == near_.data();
    check(cudaMemcpyPeerAsync(destination, outward ? to_ : from_, source, outward ? from_ : to_,
                              bytes, stream_.get()),
          "cudaMemcpyPeerAsync", from_);
  }

 private:
  template <class Move>
  bool carries(std::byte* source, std::byte* destination, int way, Move& move) {
    const auto sent = pattern(from_, to_, way);
    std::vector<std::uint64_t> got(words, 0);
    const bool outward = source == near_.data();
    write(source, sent, outward ? from_ : to_);
    write(destination, got, outward ? to_ : from_);
    move(source, destination);
    await();
    check(cudaMemcpy(got.data(), destination, bytes, cudaMemcpyDefault), "cudaMemcpy", from_);
    return got == sent;
  }

  void await() {
    const host::WaitPolicy policy = short_patience();
    const std::atomic<bool> never{false};
    const auto [result, error] = await_complete(stream_.get(), policy, never);
    if (result == host::WaitResult::timed_out)
      throw Error(ErrorCode::timeout,
                  fmt::format("device {} has not reached the memory of device {} after {}: peer "
                              "access hangs (ringside bench --preflight tries all pairs)",
                              from_, to_, format_duration(policy.limit)));
    check(error, "peer access", from_);
  }

  /// Complete when it returns. A copy of the runtime is not: the data may still be on their way to
  /// the device, and streams that are not the default one do not wait for it.
  static void write(std::byte* to, const std::vector<std::uint64_t>& data, int device) {
    const DeviceGuard guard(device);
    check(cudaMemcpy(to, data.data(), bytes, cudaMemcpyDefault), "cudaMemcpy", device);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", device);
  }

  int from_, to_;
  DeviceMemory near_, far_;
  Stream stream_;
  DeviceFold fold_;
};

/// Whether it could be enabled: there are machines with too many peers.
bool enable_peer_access(int from, int to) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, from, to), "cudaDeviceCanAccessPeer", from);
  if (can == 0) return false;
  const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
  if (error == cudaSuccess) return true;
  (void)cudaGetLastError();
  if (error == cudaErrorPeerAccessAlreadyEnabled) return true;
  if (error == cudaErrorTooManyPeers || error == cudaErrorPeerAccessUnsupported) return false;
  throw error_of(error, fmt::format("cudaDeviceEnablePeerAccess to device {}", to), from);
}

/// None if neither a kernel nor a copy works.
std::optional<Access> found_by(Trial& trial) {
  const auto kernel = [&](const std::byte* source, std::byte* destination) {
    trial.by_kernel(source, destination);
  };
  if (trial.stores(0, kernel) && trial.loads(1, kernel)) return Access::direct;
  const auto copy = [&](const std::byte* source, std::byte* destination) {
    trial.by_copy(source, destination);
  };
  if (trial.stores(2, copy) && trial.loads(3, copy)) return Access::copy_only;
  return std::nullopt;
}

Access access_between(int from, int to) {
  if (from == to) return Access::direct;
  const auto word = option<std::string>("cuda_p2p");
  if (word == "none") return Access::none;
  const Access found = probed_access(from, to);
  return word == "copy" && found == Access::direct ? Access::copy_only : found;
}

}  // namespace

Access probed_access(int from, int to) {
  const DeviceGuard guard(from);
  if (!enable_peer_access(from, to)) return Access::none;
  auto trial = std::make_unique<Trial>(from, to);
  std::optional<Access> found;
  try {
    found = found_by(*trial);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::timeout) keep_for_ever(std::move(trial));
    throw;
  }
  if (found) return *found;
  // Without peer access the runtime itself goes through the host.
  check(cudaDeviceDisablePeerAccess(to), "cudaDeviceDisablePeerAccess", from);
  return Access::none;
}

Devices::Devices(std::vector<int> device_of_rank)
    : planned_(planned_machine()), device_of_rank_(std::move(device_of_rank)) {
  const int count = device_count();
  for (const int device : device_of_rank_)
    if (device < 0 || device >= count)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("there is no GPU {}: this machine has {} (0 to {})", device, count,
                              count - 1));
  std::map<std::pair<int, int>, Access> known;
  for (const int from : device_of_rank_) {
    auto& row = access_.emplace_back();
    for (const int to : device_of_rank_) {
      const auto [entry, is_new] = known.try_emplace({from, to});
      if (is_new) entry->second = access_between(from, to);
      row.push_back(entry->second);
    }
  }
}

AccessMatrix Devices::access_among(const std::vector<int>& ranks) const {
  AccessMatrix part;
  for (const int from : ranks) {
    auto& row = part.emplace_back();
    for (const int to : ranks)
      row.push_back(access_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]);
  }
  return part;
}

std::vector<int> Devices::devices_of(const std::vector<int>& ranks) const {
  std::vector<int> devices;
  for (const int rank : ranks) devices.push_back(device_of_rank_[static_cast<std::size_t>(rank)]);
  return devices;
}

}  // namespace ringside::cuda
