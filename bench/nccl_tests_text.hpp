// SPDX-License-Identifier: MIT
/// The text that nccl-tests prints, so that what reads its tables reads ours.
///
/// Everything but the rows starts with '#'. A row has 13 fields between blanks.
#pragma once

#include <string>

#include "ringside/bench/report.hpp"

namespace ringside::bench {

/// A number in at most `width` characters if two, one or no decimals allow it, else with an
/// exponent: "9999.99", "18233.1", "118190", "1.2e+08".
[[nodiscard]] std::string number_in(double value, int width);

/// The lines before a series' rows.
[[nodiscard]] std::string text_header(const Report& report, const Series& series);
[[nodiscard]] std::string text_row(const Series& series, const Row& row);
/// The lines behind them.
[[nodiscard]] std::string text_footer(const Series& series);

/// Header, rows and footer.
[[nodiscard]] std::string text_block(const Report& report, const Series& series);

}  // namespace ringside::bench
