// SPDX-License-Identifier: MIT
/// twin_accuracy MEASURED.tsv ROWS.tsv: the table of predicted and published bandwidths.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "ringside/base/file.hpp"
#include "ringside/bench/accuracy/accuracy.hpp"

int main(int count, char** arguments) {
  try {
    if (count != 3) {
      fmt::print(stderr, "usage: twin_accuracy MEASURED.tsv ROWS.tsv\n");
      return 2;
    }
    const auto rows = ringside::bench::read_published(ringside::read_file(arguments[1]),
                                                      ringside::read_file(arguments[2]));
    fmt::print("{}", ringside::bench::accuracy_text(rows, ringside::bench::accuracy_of(rows)));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "twin_accuracy: {}\n", error.what());
    return 2;
  }
}
