// SPDX-License-Identifier: MIT
/// Hardware that does not work: planted between a device and another's memory.
#pragma once

#include <string>
#include <vector>

namespace ringside::tests::fakecuda {

enum class FaultKind {
  lost,     ///< what is stored never lands
  offset,   ///< it lands 256 bytes too far
  corrupt,  ///< one bit of it flips
  hang,     ///< the operation never ends
  slow,     ///< it takes `factor` times as long (virtual time)
};

struct HardwareFault {
  FaultKind kind = FaultKind::lost;
  int from = 0, to = 0;  ///< the device that stores or sends, and whose memory it goes to
  bool staged = false;   ///< also when the copy does not use peer access
  double factor = 1;
};

/// "lost:0-1,hang!:1-0,slow:2-3:8": comma separated KIND[!]:FROM-TO[:FACTOR]; the exclamation mark
/// means `staged`. Throws std::invalid_argument.
[[nodiscard]] std::vector<HardwareFault> parse_faults(const std::string& text);

}  // namespace ringside::tests::fakecuda
