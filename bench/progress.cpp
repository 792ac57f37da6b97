// SPDX-License-Identifier: MIT
#include "ringside/bench/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "ringside/base/options.hpp"
#include "ringside/bench/interruption.hpp"

namespace ringside::bench {
namespace {

std::size_t terminal_width() {
  winsize size = {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return 79;
  return size.ws_col - 1U;  // a full line would wrap
}

}  // namespace

Progress::Progress() {
  const auto when = option<std::string>("progress");
  wanted_ = when == "always" || (when == "auto" && ::isatty(STDERR_FILENO) == 1);
}

Progress::~Progress() { erase(); }

void Progress::show(std::size_t done, std::size_t total, std::string_view what) {
  if (!wanted_) return;
  const std::string line =
      fmt::format("{} of {}: {}", done, total, what).substr(0, terminal_width());
  note_progress_line(true);
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::erase() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  note_progress_line(false);
  shown_ = false;
}

}  // namespace ringside::bench
