// SPDX-License-Identifier: MIT
/// The devices themselves: what the preflight does to them. May hang, and may lose its process.
#pragma once

#include <memory>

#include "ringside/bench/preflight/facts.hpp"
#include "ringside/bench/preflight/step.hpp"

namespace ringside::bench::preflight {

/// Every member throws Error: unsupported if there is nothing to look at (no CUDA, driver or
/// device), device if the runtime refuses or fails.
class Devices {
 public:
  Devices();
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  [[nodiscard]] Facts facts();
  /// Makes the device's context.
  void open(int device);
  /// Done, or no_memory.
  [[nodiscard]] Outcome run(const Step& step);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ringside::bench::preflight
