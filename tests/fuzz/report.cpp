// SPDX-License-Identifier: MIT
/// Any file given to a report: it is refused with one line, or it makes a page in which no text of
/// it has become a script.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "ringside/base/error.hpp"
#include "ringside/tests/fuzz/require.hpp"
#include "ringside/tools/report/page.hpp"
#include "ringside/tools/report/read_runs.hpp"

namespace ringside::fuzz {
namespace {

constexpr std::size_t most_bytes = 100'000;  // small inputs find more than large ones do

/// Data, Chart.js, ours.
constexpr std::size_t scripts = 3;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

}  // namespace

void run(std::string_view input) {
  report::Runs runs;
  report::read_run(input.substr(0, most_bytes), "input", runs);
  require(runs.sources.size() == 1, "a file is a source");
  const auto page = report::report_page(runs, {.version = "0", .made = "now"});
  require(count(page, "<script") == scripts, "no text becomes a script");
  require(count(page, "</script") == scripts, "no text ends a script");
}

}  // namespace ringside::fuzz
