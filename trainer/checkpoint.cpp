// SPDX-License-Identifier: MIT
#include "ringside/trainer/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "ringside/base/file.hpp"
#include "ringside/base/json.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/base/target_file.hpp"
#include "ringside/base/text.hpp"
#include "ringside/trainer/sha256.hpp"

namespace ringside::trainer {
namespace {

constexpr std::string_view format_name = "ringside checkpoint 2";
constexpr std::string_view metadata_key = "__metadata__";
constexpr auto batch_norm_key = "batch_norm", synchronised = "synchronised";
constexpr std::string_view velocity_prefix = "velocity/";
constexpr std::size_t length_bytes = 8;
/// In the place of the digest while the digest is computed.
const std::string no_digest(64, '0');

/// The format's names of our two precisions.
std::string_view type_name(ElementType type) {
  return type == ElementType::float64 ? "F64" : "F32";
}

std::string little_endian(std::uint64_t number) {
  std::string bytes(length_bytes, '\0');
  for (std::size_t i = 0; i < length_bytes; ++i) bytes[i] = static_cast<char>(number >> 8 * i);
  return bytes;
}

std::uint64_t from_little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = length_bytes; i-- > 0;)
    number = number << 8U | static_cast<unsigned char>(bytes[i]);
  return number;
}

std::string digest_of(std::string_view contents) {
  return to_hex(sha256(std::as_bytes(std::span(contents.data(), contents.size()))));
}

/// Tensors of the replica by the names that they have in a file.
struct Part {
  std::string name;
  const TensorShape* shape;
  Memory memory;
};

std::vector<Part> parts_of(Replica& replica) {
  std::vector<Part> parts;
  const auto add = [&parts](std::string_view prefix, const TensorLayout& layout,
                            const Memory& memory) {
    for (std::size_t tensor = 0; tensor < layout.size(); ++tensor)
      parts.push_back({fmt::format("{}{}", prefix, layout[tensor].name), &layout[tensor],
                       memory.part(layout.extent(tensor))});
  };
  const ModelTensors& tensors = replica.tensors();
  add("", tensors.parameters, replica.parameters());
  add("", tensors.statistics, replica.statistics());
  if (replica.velocity().elements != 0)
    add(velocity_prefix, tensors.parameters, replica.velocity());
  return parts;
}

/// A tensor's part of the bytes of all.
template <class Byte>
std::span<Byte> bytes_of(const TensorLayout& layout, std::size_t tensor, ElementType type,
                         std::span<Byte> all) {
  const Extent own = layout.extent(tensor);
  return all.subspan(own.offset * size_of(type), own.length * size_of(type));
}

std::uint64_t number_of(const JsonValue& metadata, std::string_view key) {
  const JsonValue value = metadata[key];
  const auto number = parse_int(value.text());  // the format has strings only
  if (!number || *number < 0) value.fail("expected a number that is not negative");
  return static_cast<std::uint64_t>(*number);
}

double real_of(const JsonValue& metadata, std::string_view key) {
  const JsonValue value = metadata[key];
  const auto number = parse_number(value.text());
  if (!number) value.fail("expected a number");
  return *number;
}

ModelSettings model_of(const JsonValue& metadata) {
  ModelSettings model;
  const auto known = parse_model(metadata["model"].text());
  if (!known) metadata["model"].fail("no model of this program");
  model.model = *known;
  model.width = static_cast<int>(std::min<std::uint64_t>(number_of(metadata, "width"), 1U << 20U));
  const auto precision = parse_element_type(metadata["precision"].text());
  if (!precision) metadata["precision"].fail("no type of number");
  model.precision = *precision;
  model.seed = number_of(metadata, "seed");
  return model;
}

SavedTensor tensor_of(const std::string& name, const JsonValue& entry, ElementType type,
                      std::string_view data) {
  SavedTensor tensor{name, {}, {}};
  if (entry["dtype"].text() != type_name(type)) entry["dtype"].fail("not the model's precision");
  std::size_t elements = 1;
  for (const JsonValue size : entry["shape"].items()) {
    // No more than the file has bytes: the product then cannot overflow.
    const auto most = data.size() / std::max<std::size_t>(elements, 1);
    tensor.sizes.push_back(size.integer(0, static_cast<std::int64_t>(most)));
    elements *= static_cast<std::size_t>(tensor.sizes.back());
  }
  const auto offsets = entry["data_offsets"].items();
  if (offsets.size() != 2) entry["data_offsets"].fail("expected two numbers");
  const auto size = static_cast<std::int64_t>(data.size());
  const auto begin = static_cast<std::size_t>(offsets[0].integer(0, size));
  const auto end = static_cast<std::size_t>(offsets[1].integer(offsets[0].integer(), size));
  if (end - begin != elements * size_of(type))
    entry["data_offsets"].fail("not of the shape's length");
  const auto bytes = std::as_bytes(std::span(data)).subspan(begin, end - begin);
  tensor.bytes.assign(bytes.begin(), bytes.end());
  return tensor;
}

constexpr std::size_t largest_file = std::size_t{8} << 30U;

/// The file at `path` if it is a whole checkpoint.
std::optional<Checkpoint> whole_checkpoint(const std::string& path) {
  try {
    return parse_checkpoint(read_file(path, largest_file), path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Checkpoint take_checkpoint(Replica& replica, const ModelSettings& model, std::uint64_t batch,
                           const Position& position) {
  Checkpoint checkpoint{model, batch, position};
  checkpoint.model.width = width_of(model);
  for (const Part& part : parts_of(replica)) {
    SavedTensor tensor{part.name, part.shape->sizes, std::vector<std::byte>(part.memory.bytes())};
    replica.copy_to_host(part.memory, tensor.bytes);
    checkpoint.tensors.push_back(std::move(tensor));
  }
  return checkpoint;
}

void restore(const Checkpoint& checkpoint, Replica& replica) {
  std::map<std::string_view, const SavedTensor*> saved;
  for (const auto& tensor : checkpoint.tensors) saved.emplace(tensor.name, &tensor);
  for (const Part& part : parts_of(replica)) {
    const auto found = saved.find(part.name);
    if (found == saved.end()) {
      if (part.name.starts_with(velocity_prefix)) continue;
      throw Error(ErrorCode::bad_input, fmt::format("the checkpoint has no {}", part.name));
    }
    const SavedTensor& tensor = *found->second;
    if (tensor.sizes != part.shape->sizes || tensor.bytes.size() != part.memory.bytes())
      throw Error(ErrorCode::bad_input,
                  fmt::format("{} has another shape or type in the checkpoint", part.name));
    replica.copy_from_host(tensor.bytes, part.memory);
    saved.erase(found);
  }
  for (const auto& [name, tensor] : saved)
    if (!name.starts_with(velocity_prefix))
      throw Error(ErrorCode::bad_input, fmt::format("the model has no {}", name));
}

void add_velocity(Checkpoint& checkpoint, const TensorLayout& layout,
                  std::span<const std::byte> velocity) {
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor) {
    const auto own = bytes_of(layout, tensor, checkpoint.model.precision, velocity);
    checkpoint.tensors.push_back({fmt::format("{}{}", velocity_prefix, layout[tensor].name),
                                  layout[tensor].sizes,
                                  std::vector<std::byte>(own.begin(), own.end())});
  }
}

std::vector<std::byte> velocity_of(const Checkpoint& checkpoint, const TensorLayout& layout) {
  const ElementType type = checkpoint.model.precision;
  std::vector<std::byte> velocity(layout.elements() * size_of(type));
  for (const auto& saved : checkpoint.tensors)
    for (std::size_t tensor = 0; tensor < layout.size(); ++tensor)
      if (saved.name == fmt::format("{}{}", velocity_prefix, layout[tensor].name)) {
        if (saved.sizes != layout[tensor].sizes)
          throw Error(ErrorCode::bad_input,
                      fmt::format("{} has another shape in the checkpoint", saved.name));
        const auto own = bytes_of(layout, tensor, type, std::span(velocity));
        std::copy(saved.bytes.begin(), saved.bytes.end(), own.begin());
      }
  return velocity;
}

std::string to_file_contents(const Checkpoint& checkpoint) {
  Json table;
  table[std::string(metadata_key)] = {
      {"format", format_name},
      {"model", to_string(checkpoint.model.model)},
      {"width", fmt::to_string(width_of(checkpoint.model))},
      {"precision", to_string(checkpoint.model.precision)},
      {"seed", fmt::to_string(checkpoint.model.seed)},
      {"batch", fmt::to_string(checkpoint.batch)},
      {"epoch", fmt::to_string(checkpoint.position.epoch)},
      {"step", fmt::to_string(checkpoint.position.step)},
      {"samples", fmt::to_string(checkpoint.samples)},
      {"data_sha256", checkpoint.data_digest},
      {"learning_rate", fmt::to_string(checkpoint.recipe.rate)},
      {"warmup_from", fmt::to_string(checkpoint.recipe.warmup_from)},
      {"warmup_epochs", fmt::to_string(checkpoint.recipe.warmup_epochs)},
      {"momentum", fmt::to_string(checkpoint.recipe.momentum)},
      {"decay", fmt::to_string(checkpoint.recipe.decay)},
      {batch_norm_key, checkpoint.recipe.synchronised_batch_norm ? synchronised : "local"},
      {"sha256", no_digest}};
  std::size_t offset = 0;
  for (const auto& tensor : checkpoint.tensors) {
    const std::size_t end = offset + tensor.bytes.size();
    table[tensor.name] = {{"dtype", type_name(checkpoint.model.precision)},
                          {"shape", tensor.sizes},
                          {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string header = table.dump();
  header.resize((header.size() + 7) / 8 * 8, ' ');  // the data begin at a multiple of 8
  std::string contents = little_endian(header.size()) + header;
  contents.reserve(contents.size() + offset);
  for (const auto& tensor : checkpoint.tensors) {
    const std::size_t at = contents.size();
    contents.resize(at + tensor.bytes.size());
    if (!tensor.bytes.empty())
      std::memcpy(contents.data() + at, tensor.bytes.data(), tensor.bytes.size());
  }
  const std::string digest = digest_of(contents);
  contents.replace(contents.find(no_digest), digest.size(), digest);
  return contents;
}

Checkpoint parse_checkpoint(std::string_view contents, const std::string& name) {
  const auto refuse = [&name](std::string_view why) {
    return Error(ErrorCode::bad_input, fmt::format("{}: {}", quote(name, 200), why));
  };
  if (contents.size() < length_bytes) throw refuse("no checkpoint: too short");
  const std::uint64_t length = from_little_endian(contents);
  if (length > contents.size() - length_bytes || contents[length_bytes] != '{')
    throw refuse("no checkpoint, or cut off in its header");
  const std::string_view header = contents.substr(length_bytes, length);
  const std::string_view data = contents.substr(length_bytes + length);
  const JsonDocument document(header, fmt::format("{} (header)", name));
  const JsonValue table = document.root();
  const JsonValue metadata = table[metadata_key];
  if (metadata["format"].text() != format_name)
    throw refuse(fmt::format("not of the format {}", quote(format_name)));

  const std::string& digest = metadata["sha256"].text();
  std::string without(contents);
  const auto place = without.find(digest);
  if (digest.size() != no_digest.size() || place == std::string::npos)
    throw refuse("damaged: its SHA-256 is none");
  without.replace(place, digest.size(), no_digest);
  if (digest_of(without) != digest)
    throw refuse("damaged or cut off: its contents have another SHA-256 than it says");

  Checkpoint checkpoint;
  checkpoint.model = model_of(metadata);
  checkpoint.batch = number_of(metadata, "batch");
  checkpoint.position = {number_of(metadata, "epoch"), number_of(metadata, "step")};
  checkpoint.samples = number_of(metadata, "samples");
  checkpoint.data_digest = metadata["data_sha256"].text();
  checkpoint.recipe = {.rate = real_of(metadata, "learning_rate"),
                       .warmup_from = real_of(metadata, "warmup_from"),
                       .warmup_epochs = real_of(metadata, "warmup_epochs"),
                       .momentum = real_of(metadata, "momentum"),
                       .decay = real_of(metadata, "decay")};
  // Files of before there was a choice have no word of it.
  if (const auto norms = metadata.find(batch_norm_key))
    checkpoint.recipe.synchronised_batch_norm = norms->text() == synchronised;
  for (const auto& [tensor, entry] : table.fields())
    if (tensor != metadata_key)
      checkpoint.tensors.push_back(
          tensor_of(std::string(tensor), entry, checkpoint.model.precision, data));
  return checkpoint;
}

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  namespace fs = std::filesystem;
  const std::string previous = path + std::string(previous_suffix);
  std::error_code failed;
  if (fs::is_regular_file(path, failed) && whole_checkpoint(path)) {
    // A second name for the file, so that there is one under `path` at every moment.
    const std::string link = previous + ".new";
    fs::remove(link, failed);
    fs::create_hard_link(resolve_links(path), link, failed);
    if (failed) {  // a file system without them, or somebody's file of that name
      write_file(previous, read_file(path, largest_file));
      failed.clear();
    } else {
      fs::rename(link, previous, failed);
    }
    if (failed)
      throw Error(ErrorCode::io, fmt::format("cannot keep the previous checkpoint as {}: {}",
                                             quote(previous, 200), failed.message()));
  }
  write_file(path, to_file_contents(checkpoint));
}

Checkpoint load_checkpoint(const std::string& path) {
  const std::string contents = read_file(path, largest_file);
  try {
    return parse_checkpoint(contents, path);
  } catch (const Error& error) {
    const std::string previous = path + std::string(previous_suffix);
    const auto kept = whole_checkpoint(previous);
    if (!kept) throw;
    throw Error(error.code(),
                fmt::format("{}; {} is whole (epoch {}, step {})", error.what(),
                            quote(previous, 200), kept->position.epoch, kept->position.step));
  }
}

}  // namespace ringside::trainer
