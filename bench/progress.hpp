// SPDX-License-Identifier: MIT
/// One line on standard error that says how far long work has come.
#pragma once

#include <string_view>

namespace ringside::bench {

/// Overwrites its line with every update and leaves none behind. Silent unless standard error is a
/// terminal (the option `progress`).
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// "12 of 88: what" from then on; `what` is cut to the terminal's width.
  void show(std::size_t done, std::size_t total, std::string_view what);
  /// Whether a line is shown at all.
  [[nodiscard]] bool wanted() const { return wanted_; }
  /// Takes the line away, before something else is printed.
  void erase();

 private:
  bool wanted_;
  bool shown_ = false;
};

}  // namespace ringside::bench
