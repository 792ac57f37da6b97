// SPDX-License-Identifier: MIT
#include "ringside/trainer/data/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/trainer/data/idx.hpp"
#include "ringside/trainer/random.hpp"

namespace ringside::trainer {
namespace {

namespace fs = std::filesystem;

constexpr auto debian_folder = "/usr/share/datasets/fashion-mnist";

/// MNIST's names, and the SHA-256 of Fashion-MNIST's files, unpacked (those of
/// dataset-fashion-mnist 0.0~git20200523; the publisher's sums are of his .gz files).
struct KnownFile {
  std::string_view name;
  std::size_t dimensions;
  std::string_view fashion_mnist;
};
constexpr std::array<KnownFile, 4> files = {
    {{"train-images-idx3-ubyte", 3,
      "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
     {"train-labels-idx1-ubyte", 1,
      "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
     {"t10k-images-idx3-ubyte", 3,
      "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
     {"t10k-labels-idx1-ubyte", 1,
      "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}}};

/// The file, packed or not.
std::string path_of(const fs::path& folder, std::string_view name) {
  std::error_code ignored;
  const fs::path plain = folder / name;
  fs::path packed = plain;
  packed += ".gz";
  for (const auto& path : {packed, plain})
    if (fs::exists(path, ignored)) return path.string();
  throw Error(ErrorCode::io,
              fmt::format("there is no {} or {}.gz in {}: install dataset-fashion-mnist, or name "
                          "the folder of such files (--data DIR)",
                          name, name, quote(folder.string(), 200)));
}

Samples samples_of(IdxFile images, IdxFile labels, const std::string& images_path,
                   const std::string& labels_path) {
  const auto refuse = [](const std::string& path, std::string_view why) {
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", quote(path, 200), why));
  };
  if (images.sizes[1] != image_side || images.sizes[2] != image_side)
    refuse(images_path, fmt::format("its images are {} x {}, the models take {} x {}",
                                    images.sizes[1], images.sizes[2], image_side, image_side));
  if (images.sizes[0] == 0) refuse(images_path, "it has no images");
  if (images.sizes[0] != labels.sizes[0])
    refuse(labels_path, fmt::format("it has {} labels, but there are {} images", labels.sizes[0],
                                    images.sizes[0]));
  const auto wrong = std::find_if(labels.bytes.begin(), labels.bytes.end(),
                                  [](std::uint8_t label) { return label >= classes; });
  if (wrong != labels.bytes.end())
    refuse(labels_path, fmt::format("label {} is {}, the models know 0 to {}",
                                    wrong - labels.bytes.begin(), *wrong, classes - 1));
  return {std::move(images.bytes), std::move(labels.bytes)};
}

/// A pattern of 4 x 4 fields of 7 x 7 pixels, different for every class.
std::array<std::uint8_t, image_pixels> pattern(std::size_t label) {
  constexpr std::uint64_t any_seed = 28;
  constexpr std::size_t field = 7;
  Random random(any_seed, label);
  std::array<std::uint8_t, (image_side / field) * (image_side / field)> fields{};
  for (auto& value : fields) value = static_cast<std::uint8_t>(random.below(2) * 128);
  std::array<std::uint8_t, image_pixels> image{};
  for (std::size_t i = 0; i < image.size(); ++i)
    image[i] = fields[i / image_side / field * (image_side / field) + i % image_side / field];
  return image;
}

Samples synthetic_samples(std::size_t count, Random random) {
  Samples samples;
  std::array<std::array<std::uint8_t, image_pixels>, classes> patterns{};
  for (std::size_t label = 0; label < classes; ++label) patterns[label] = pattern(label);
  samples.pixels.resize(count * image_pixels);
  samples.labels.resize(count);
  for (std::size_t sample = 0; sample < count; ++sample) {
    const std::size_t label = random.below(classes);
    samples.labels[sample] = static_cast<std::uint8_t>(label);
    for (std::size_t pixel = 0; pixel < image_pixels; ++pixel)
      samples.pixels[sample * image_pixels + pixel] =
          static_cast<std::uint8_t>(patterns[label][pixel] + random.below(128));
  }
  return samples;
}

}  // namespace

Batch Samples::batch(std::span<const std::uint32_t> numbers) const {
  Batch batch;
  batch.pixels.resize(numbers.size() * image_pixels);
  batch.labels.resize(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::copy_n(&pixels[numbers[i] * image_pixels], image_pixels, &batch.pixels[i * image_pixels]);
    batch.labels[i] = labels[numbers[i]];
  }
  return batch;
}

void Samples::keep(std::size_t first) {
  if (first >= count()) return;
  labels.resize(first);
  pixels.resize(first * image_pixels);
}

Digest digest_of(const Samples& samples) {
  std::array<Digest, 2> parts = {sha256(std::as_bytes(std::span(samples.pixels))),
                                 sha256(std::as_bytes(std::span(samples.labels)))};
  return sha256(std::as_bytes(std::span(parts)));
}

Dataset read_dataset(const std::string& folder) {
  const fs::path where = folder.empty() ? fs::path(debian_folder) : fs::path(folder);
  std::array<std::string, files.size()> paths;
  for (std::size_t i = 0; i < files.size(); ++i) paths[i] = path_of(where, files[i].name);
  std::array<IdxFile, files.size()> contents;
  bool known = true;
  for (std::size_t i = 0; i < files.size(); ++i) {
    contents[i] = read_idx(paths[i], files[i].dimensions);
    known = known && to_hex(contents[i].digest) == files[i].fashion_mnist;
  }
  Dataset data;
  data.training = samples_of(std::move(contents[0]), std::move(contents[1]), paths[0], paths[1]);
  data.test = samples_of(std::move(contents[2]), std::move(contents[3]), paths[2], paths[3]);
  data.name = known ? "Fashion-MNIST (checked by SHA-256)"
                    : fmt::format("{} (not the published Fashion-MNIST)", where.string());
  return data;
}

Dataset synthetic_dataset(std::size_t training, std::size_t test, std::uint64_t seed) {
  Dataset data;
  data.training = synthetic_samples(training, Random(seed, 0));
  data.test = synthetic_samples(test, Random(seed, 1));
  data.name = "synthetic images";
  return data;
}

}  // namespace ringside::trainer
