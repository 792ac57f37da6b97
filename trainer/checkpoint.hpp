// SPDX-License-Identifier: MIT
/// What training needs to go on exactly where it was, in a file.
///
/// The file is of the safetensors format (a length, a JSON table of tensors, their bytes), so that
/// other programs read it too. Tensors have the model's own names, whatever strategy and number of
/// ranks saved them; momentum is under "velocity/NAME". A SHA-256 covers the whole file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/trainer/engine.hpp"

namespace ringside::trainer {

/// How far training has come: `epoch` epochs, and `step` steps of the next.
struct Position {
  std::uint64_t epoch = 0, step = 0;
  bool operator==(const Position&) const = default;
};

struct SavedTensor {
  std::string name;
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> bytes;
};

/// What an update is made by. Who goes on with another one makes another training.
struct Recipe {
  double rate = 0.1;         ///< learning rate
  double warmup_from = 0;    ///< rate that the warm-up begins at
  double warmup_epochs = 0;  ///< how long it lasts
  double momentum = 0, decay = 0;
  bool synchronised_batch_norm = false;
  bool operator==(const Recipe&) const = default;
};

struct Checkpoint {
  ModelSettings model;
  std::uint64_t batch = 0;  ///< samples of a step; with seed and position it says what comes next
  Position position;
  std::vector<SavedTensor> tensors = {};
  std::uint64_t samples = 0;     ///< of the data that were learned from
  std::string data_digest = {};  ///< their SHA-256 (digest_of)
  Recipe recipe = {};
};

/// The replica's numbers, and restored. A replica takes what its own model has, in its own
/// precision: Error(bad_input), with the names that differ, otherwise. Momentum that is not there
/// begins at zero.
[[nodiscard]] Checkpoint take_checkpoint(Replica& replica, const ModelSettings& model,
                                         std::uint64_t batch, const Position& position);
void restore(const Checkpoint& checkpoint, Replica& replica);

/// The momentum of all parameters, as it lies in memory (`layout`), for who keeps it elsewhere than
/// in a replica: adds it to the checkpoint, and gets it back, zero where there is none.
void add_velocity(Checkpoint& checkpoint, const TensorLayout& layout,
                  std::span<const std::byte> velocity);
[[nodiscard]] std::vector<std::byte> velocity_of(const Checkpoint& checkpoint,
                                                 const TensorLayout& layout);

/// The file's contents, and back. `name` is for messages. Throws Error(bad_input) for what is no
/// checkpoint, or a damaged one.
[[nodiscard]] std::string to_file_contents(const Checkpoint& checkpoint);
[[nodiscard]] Checkpoint parse_checkpoint(std::string_view contents, const std::string& name);

/// `path` + this is what `path` was before it was last replaced.
inline constexpr std::string_view previous_suffix = ".previous";

/// Replaces the file in one step, and keeps the one that was there, if it is whole, as the
/// previous. A symbolic link is followed.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

/// Throws Error(io) or Error(bad_input); for a damaged file it says whether the previous is whole.
[[nodiscard]] Checkpoint load_checkpoint(const std::string& path);

}  // namespace ringside::trainer
