// SPDX-License-Identifier: MIT
/// What the tests of training share: small data, small models, and replicas to compare.
#pragma once

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "ringside/trainer/training.hpp"

namespace ringside::tests {

/// Few images, and an odd number of them, so that shares are ragged.
inline const trainer::Dataset& small_data() {
  static const trainer::Dataset data = trainer::synthetic_dataset(203, 101, 5);
  return data;
}

/// The engine that is always there.
trainer::Engine& mlp_engine();

/// mlp, or another model, on the small data for a few steps.
inline trainer::TrainingSettings small_settings(trainer::StrategyKind kind,
                                                ElementType precision = ElementType::float32) {
  trainer::TrainingSettings settings;
  settings.model = {.model = trainer::Model::mlp, .width = 16, .precision = precision, .seed = 3};
  settings.strategy.kind = kind;
  settings.batch = 64;
  settings.epochs = 2;
  settings.rate = 0.1;
  return settings;
}

/// What training leaves.
struct Trained {
  std::vector<trainer::EpochReport> reports;
  trainer::Checkpoint end;
};

/// Trains on threads and takes the end from the checkpoint that is written.
Trained train_on(int ranks, trainer::Engine& engine, trainer::TrainingSettings settings,
                 const trainer::Dataset& data = small_data());

/// All parameters of a checkpoint, one after another.
template <class T>
std::vector<T> numbers_of(const trainer::Checkpoint& checkpoint) {
  std::vector<T> all;
  for (const auto& tensor : checkpoint.tensors) {
    std::vector<T> own(tensor.bytes.size() / sizeof(T));
    if (!own.empty()) std::memcpy(own.data(), tensor.bytes.data(), tensor.bytes.size());
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

/// Norm of the difference over norm.
template <class T>
double relative_difference(std::span<const T> a, std::span<const T> b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference) / std::sqrt(norm);
}

/// The largest relative difference of a tensor.
template <class T>
double worst_difference(const trainer::Checkpoint& a, const trainer::Checkpoint& b) {
  double worst = 0;
  for (std::size_t tensor = 0; tensor < a.tensors.size(); ++tensor) {
    const trainer::Checkpoint one{{}, 0, {}, {a.tensors[tensor]}};
    const trainer::Checkpoint other{{}, 0, {}, {b.tensors[tensor]}};
    worst = std::max(worst, relative_difference<T>(numbers_of<T>(one), numbers_of<T>(other)));
  }
  return worst;
}

/// Whether two checkpoints have the same bits in all tensors.
inline bool same_bits(const trainer::Checkpoint& a, const trainer::Checkpoint& b) {
  if (a.tensors.size() != b.tensors.size()) return false;
  for (std::size_t tensor = 0; tensor < a.tensors.size(); ++tensor)
    if (a.tensors[tensor].bytes != b.tensors[tensor].bytes) return false;
  return true;
}

}  // namespace ringside::tests
