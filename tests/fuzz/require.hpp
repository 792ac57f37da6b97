// SPDX-License-Identifier: MIT
/// What the fuzz targets share: the promise that must hold, and its loud end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "ringside/base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ringside::fuzz {

/// Ends the program, which is how a fuzzer is told of a finding.
inline void require(bool promise, std::string_view what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

/// Bad input may be refused, with one of these codes and a message; nothing else may be thrown.
inline void require_refusal(const Error& error) {
  require(error.code() == ErrorCode::bad_input || error.code() == ErrorCode::unsupported ||
              error.code() == ErrorCode::invalid_argument,
          error.what());
  require(!std::string_view(error.what()).empty(), "an error has a message");
}

/// What a target does with an input (entry.cpp calls it). What it throws is held to be a refusal.
void run(std::string_view input);

}  // namespace ringside::fuzz
