// SPDX-License-Identifier: MIT
#include "ringside/tests/trainer/learning.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <utility>

namespace ringside::tests {

trainer::Engine& mlp_engine() {
  static const auto mlp = trainer::engine_for(trainer::Model::mlp);
  return *mlp;
}

Trained train_on(int ranks, trainer::Engine& engine, trainer::TrainingSettings settings,
                 const trainer::Dataset& data) {
  static std::atomic<int> number = 0;
  const std::filesystem::path file = std::filesystem::temp_directory_path() /
                                     fmt::format("ringside_trained_{}_{}", ::getpid(), number++);
  settings.checkpoint = file;
  World world = trainer::make_world(settings.backend, ranks);
  trainer::Observer nobody;
  Trained trained;
  trained.reports = trainer::train(world, engine, data, settings, nobody);
  trained.end = trainer::load_checkpoint(file);
  std::filesystem::remove(file);
  std::filesystem::remove(file.string() + std::string(trainer::previous_suffix));
  return trained;
}

}  // namespace ringside::tests
