// SPDX-License-Identifier: MIT
/// SHA-256 (FIPS 180-4): whether data are what they were, on disk and on all ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ringside::trainer {

using Digest = std::array<std::uint8_t, 32>;

[[nodiscard]] Digest sha256(std::span<const std::byte> data);

/// 64 hexadecimal digits.
[[nodiscard]] std::string to_hex(const Digest& digest);

}  // namespace ringside::trainer
