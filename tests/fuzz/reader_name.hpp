// SPDX-License-Identifier: MIT
/// Which reader a fuzz target tries.
#pragma once

namespace ringside::fuzz {

/// The reader of topology inputs that this target tries, or the program whose readers are ("" for
/// all): each target has its own.
extern const char* const reader_name;

}  // namespace ringside::fuzz
