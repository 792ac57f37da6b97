// SPDX-License-Identifier: MIT
#include "ringside/trainer/strategies/departures.hpp"

#include <algorithm>
#include <utility>

namespace ringside::trainer {

Departures::Departures(std::vector<Bucket> buckets, Send send, Arrived arrived)
    : buckets_(std::move(buckets)),
      send_(std::move(send)),
      arrived_(std::move(arrived)),
      missing_(buckets_.size()) {
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    bucket_of_.resize(std::max(bucket_of_.size(), buckets_[bucket].last + 1));
    for (std::size_t tensor = buckets_[bucket].first; tensor <= buckets_[bucket].last; ++tensor)
      bucket_of_[tensor] = bucket;
  }
}

void Departures::begin() {
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    missing_[bucket] = buckets_[bucket].tensors();
}

void Departures::note_ready(std::size_t tensor) {
  --missing_[bucket_of_[tensor]];
  while (calls_.size() < buckets_.size() && missing_[calls_.size()] == 0) send_next();
}

void Departures::send_next() { calls_.push_back(send_(buckets_[calls_.size()])); }

void Departures::finish(StepTimes& times) {
  const Stopwatch waiting;
  while (calls_.size() < buckets_.size()) send_next();
  Seconds running{0};
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    calls_[bucket].wait();
    running += calls_[bucket].running_time();
    arrived_(buckets_[bucket]);
  }
  calls_.clear();
  times.add(Part::hidden, std::max(running - waiting.elapsed(), Seconds{0}));
}

}  // namespace ringside::trainer
