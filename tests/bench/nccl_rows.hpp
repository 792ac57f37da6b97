// SPDX-License-Identifier: MIT
/// A reader of nccl-tests' rows that knows nothing of column positions: it splits on blanks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::tests {

struct NcclFields {
  double time = 0, algbw = 0, busbw = 0;
  std::string check;  ///< as printed; empty where the column is missing
};

struct NcclRow {
  std::size_t fields = 0;
  std::uint64_t size = 0;
  std::optional<std::uint64_t> count;
  std::string type;
  std::optional<NcclFields> out_of_place, in_place;  ///< nothing where N/A
};

struct NcclText {
  std::vector<NcclRow> rows;  ///< complete ones
  bool has_incomplete_rows = false;
  std::optional<double> average_busbw;  ///< of the first footer
  std::optional<std::string> out_of_bounds;
};

/// Reads rows of 11 to 13 fields (the columns redop and root may be missing) and of 4 (size, time,
/// algbw, busbw). Skips everything else: comments, log lines, tags of mpirun before a line.
[[nodiscard]] NcclText read_nccl_text(std::string_view text);

}  // namespace ringside::tests
