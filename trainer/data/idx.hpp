// SPDX-License-Identifier: MIT
/// Reads IDX, the format of MNIST and its relatives: a big-endian magic number (0, 0, type, number
/// of dimensions), the dimensions as 32-bit numbers, then the data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ringside/trainer/sha256.hpp"

namespace ringside::trainer {

/// A file of bytes.
struct IdxFile {
  std::vector<std::size_t> sizes;   ///< images, rows, columns; or labels
  std::vector<std::uint8_t> bytes;  ///< their product
  Digest digest{};                  ///< of the unpacked file, header included
};

/// Reads a file of unsigned bytes with so many dimensions, gzipped or not. Throws Error(io) if it
/// cannot be opened and Error(bad_input), naming the file, if it is not such a file, is damaged,
/// or has fewer or more bytes than its header says.
[[nodiscard]] IdxFile read_idx(const std::string& path, std::size_t dimensions);

}  // namespace ringside::trainer
