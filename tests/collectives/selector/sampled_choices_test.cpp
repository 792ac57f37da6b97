// SPDX-License-Identifier: MIT
/// Some lines of the reviewed tables of choices, in a second; the full test compares all.
#include <gtest/gtest.h>

#include "choice_tables.hpp"
#include "ringside/base/file.hpp"

namespace ringside::tests {
namespace {

TEST(SampledChoices, AreAsReviewed) {
  for (const auto* preset :
       {"4gpu-pcie4-two-switches", "4gpu-pcie4-two-sockets", "4gpu-nvlink-pairs", "dgx-h100"}) {
    const std::string reviewed = read_file(table_path(preset));
    EXPECT_NE(reviewed.find(table_heading(preset)), std::string::npos);
    for (const auto& line : table_lines(preset, table_sizes(16)))
      EXPECT_NE(reviewed.find("\n" + line + "\n"), std::string::npos)
          << preset << ": not in the reviewed table: " << line;
  }
}

}  // namespace
}  // namespace ringside::tests
