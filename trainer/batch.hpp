// SPDX-License-Identifier: MIT
/// Images with their labels, as they come from the data set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ringside::trainer {

/// The one size of image that the models take: 28 x 28 pixels, in 10 classes.
inline constexpr std::size_t image_side = 28;
inline constexpr std::size_t image_pixels = image_side * image_side;
inline constexpr std::size_t classes = 10;

/// Some samples. Pixels are 0 to 255, row by row; models scale them to 0 to 1.
struct Batch {
  std::vector<std::uint8_t> pixels;  ///< image_pixels a sample
  std::vector<std::uint8_t> labels;  ///< one a sample, or none where only outputs are wanted

  [[nodiscard]] std::size_t samples() const { return pixels.size() / image_pixels; }
};

/// A batch that is not owned.
struct BatchView {
  std::span<const std::uint8_t> pixels;
  std::span<const std::uint8_t> labels;

  BatchView() = default;
  BatchView(std::span<const std::uint8_t> the_pixels, std::span<const std::uint8_t> the_labels)
      : pixels(the_pixels), labels(the_labels) {}
  BatchView(const Batch& batch)  // NOLINT(google-explicit-constructor): as string to string_view
      : pixels(batch.pixels), labels(batch.labels) {}
  [[nodiscard]] std::size_t samples() const { return pixels.size() / image_pixels; }
};

}  // namespace ringside::trainer
