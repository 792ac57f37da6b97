// SPDX-License-Identifier: MIT
/// Any bytes as a checkpoint: refused, or what we write of it reads back as the same.
#include "ringside/trainer/checkpoint.hpp"

#include <string>

#include "ringside/tests/fuzz/require.hpp"

namespace ringside::fuzz {

void run(std::string_view input) {
  const auto checkpoint = trainer::parse_checkpoint(input, "the input");
  const std::string again = trainer::to_file_contents(checkpoint);
  require(trainer::to_file_contents(trainer::parse_checkpoint(again, "our own")) == again,
          "what we write reads back as the same");
}

}  // namespace ringside::fuzz
