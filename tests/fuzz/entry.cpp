// SPDX-License-Identifier: MIT
/// What a fuzzer calls, for every target: an input is taken, or refused in the ways that are
/// promised.
#include "ringside/tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    ringside::fuzz::run({reinterpret_cast<const char*>(data), size});
  } catch (const ringside::Error& error) {
    ringside::fuzz::require_refusal(error);
  }
  return 0;
}
