// SPDX-License-Identifier: MIT
/// The command line of `ringside train`: its options, and what their words mean.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/tools/cli/train_on.hpp"
#include "ringside/trainer/data/dataset.hpp"
#include "ringside/trainer/training.hpp"

namespace ringside::cli {

/// The words of the command line, before they are understood.
struct TrainArguments {
  std::string model = "lenet", width, precision = "float32", seed = "1";
  std::string ranks, strategy, algorithm = "auto", backend = "host", devices;
  std::string data, synthetic, samples;
  std::string batch = "256", accumulate = "1", epochs = "10", steps;
  std::string rate, warmup, momentum, decay;
  std::string wire_type = "gradients", bucket, first_bucket, slow_wire, micro_batches;
  std::string zero_stage, batch_norm = "local", shares, slow_ranks;
  std::string threads = "1", prefetch = "2";
  std::string checkpoint, checkpoint_steps, resume;
  std::string rounds = "5", warmup_steps = "3", format;
  bool no_scaling = false, no_overlap = false, no_evaluation = false, compare = false;
  TrainOnArguments on;
};

/// Adds all options of the command. `arguments` must outlive the parsing.
void add_train_options(CLI::App& command, TrainArguments& arguments);

/// What the words mean. All throw Error(bad_input), which names the option, for what they cannot
/// mean.
[[nodiscard]] trainer::TrainingSettings settings_of(const TrainArguments& arguments);
[[nodiscard]] trainer::Dataset data_of(const TrainArguments& arguments, std::uint64_t seed);
/// Of --ranks.
[[nodiscard]] std::vector<int> ranks_of(const std::string& text);
/// Of --algorithm; "auto" is to say nothing.
[[nodiscard]] std::vector<std::string> algorithms_of(const std::string& text);
/// Of --strategy, where there may be several; those to compare with one rank if nothing is said.
[[nodiscard]] std::vector<trainer::StrategyKind> kinds_of(const TrainArguments& arguments);
[[nodiscard]] trainer::StrategyKind kind_of(const std::string& word);
/// A whole number from `least` to `most`.
[[nodiscard]] std::size_t count_of(std::string_view option, const std::string& text,
                                   std::int64_t least, std::int64_t most = std::int64_t{1} << 31U);

}  // namespace ringside::cli
