// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/streams.hpp"

#include <algorithm>

namespace ringside::cuda {

bool is_same_stream(cudaStream_t a, int device_of_a, cudaStream_t b, int device_of_b) {
  return a == b && (device_of_a == device_of_b || (a != nullptr && a != cudaStreamLegacy));
}

Streams::Streams(std::vector<int> devices) : devices_(std::move(devices)) {
  const int most = *std::max_element(devices_.begin(), devices_.end());
  events_.resize(static_cast<std::size_t>(most) + 1);
}

cudaStream_t Streams::lane(int rank, int lane) {
  while (lanes_.size() <= static_cast<std::size_t>(lane)) lanes_.emplace_back(devices_.size());
  Stream& stream = lanes_[static_cast<std::size_t>(lane)][static_cast<std::size_t>(rank)];
  if (!stream) stream = Stream::on(device_of(rank));
  return stream.get();
}

std::vector<cudaStream_t> Streams::made() const {
  std::vector<cudaStream_t> streams;
  for (const auto& lane : lanes_)
    for (const auto& stream : lane)
      if (stream) streams.push_back(stream.get());
  return streams;
}

std::vector<cudaStream_t> Streams::made(int rank) const {
  std::vector<cudaStream_t> streams;
  for (const auto& lane : lanes_)
    if (const Stream& stream = lane[static_cast<std::size_t>(rank)])
      streams.push_back(stream.get());
  return streams;
}

cudaEvent_t Streams::event(int rank) {
  Events& events = events_[static_cast<std::size_t>(device_of(rank))];
  if (events.used == events.made.size()) events.made.push_back(Event::on(device_of(rank)));
  return events.made[events.used++].get();
}

void Streams::begin_call() {
  for (auto& events : events_) events.used = 0;
}

void CurrentDevice::set(int device) {
  if (current_ == device) return;
  if (before_ < 0) check(cudaGetDevice(&before_), "cudaGetDevice", device);
  check(cudaSetDevice(device), "cudaSetDevice", device);
  current_ = device;
}

CurrentDevice::~CurrentDevice() {
  if (before_ >= 0 && before_ != current_) (void)cudaSetDevice(before_);
}

}  // namespace ringside::cuda
