// SPDX-License-Identifier: MIT
/// Any bytes as a checkpoint: refused, or what we write of it reads back as the same.
#include "ringside/trainer/checkpoint.hpp"

#include <string>

#include "ringside/tests/fuzz/require.hpp"

namespace ringside::fuzz {
namespace {

void run(std::string_view bytes) try {
  const auto checkpoint = trainer::parse_checkpoint(bytes, "the input");
  const std::string again = trainer::to_file_contents(checkpoint);
  require(trainer::to_file_contents(trainer::parse_checkpoint(again, "our own")) == again,
          "what we write reads back as the same");
} catch (const Error& error) {
  require_refusal(error);
}

}  // namespace
}  // namespace ringside::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ringside::fuzz::run(ringside::fuzz::as_text(data, size));
  return 0;
}
