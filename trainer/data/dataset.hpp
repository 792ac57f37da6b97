// SPDX-License-Identifier: MIT
/// What is learned from and tested on: Fashion-MNIST, another set of the same form, or made-up
/// images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ringside/trainer/batch.hpp"
#include "ringside/trainer/sha256.hpp"

namespace ringside::trainer {

/// Samples in memory.
struct Samples {
  std::vector<std::uint8_t> pixels;  ///< image_pixels a sample
  std::vector<std::uint8_t> labels;  ///< below `classes`

  [[nodiscard]] std::size_t count() const { return labels.size(); }
  /// Copies of the samples with these numbers.
  [[nodiscard]] Batch batch(std::span<const std::uint32_t> numbers) const;
  /// The `first` ones only.
  void keep(std::size_t first);
};

/// SHA-256 of pixels and labels.
[[nodiscard]] Digest digest_of(const Samples& samples);

struct Dataset {
  Samples training, test;
  std::string name;  ///< for reports, with "synthetic" or "checked" in it where that is so
};

/// Reads the four files of MNIST's names (train-images-idx3-ubyte and so on, gzipped as .gz or
/// not) in `folder`; where it is empty, where Debian's dataset-fashion-mnist puts them. Throws
/// Error(io) if there are none, saying how to get them, and Error(bad_input) for files that do not
/// fit the models or each other.
[[nodiscard]] Dataset read_dataset(const std::string& folder = {});

/// Images that a model can tell apart: noise, and one of ten fixed patterns. For where speed alone
/// matters, and for tests. The same for a seed everywhere.
[[nodiscard]] Dataset synthetic_dataset(std::size_t training, std::size_t test, std::uint64_t seed);

}  // namespace ringside::trainer
