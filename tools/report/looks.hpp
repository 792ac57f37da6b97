// SPDX-License-Identifier: MIT
/// Colours and markers of algorithms, the same in all charts of a report.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ringside::report {

/// An index in the page's palette of eight colours, which people who see few colours tell apart
/// (after Okabe and Ito), and a marker, which tells those apart that share one.
struct Look {
  int colour = 0;
  int marker = 0;

  auto operator<=>(const Look&) const = default;  // NOLINT(modernize-use-nullptr)
};

inline constexpr int palette_size = 8;
inline constexpr int marker_count = 8;

class Looks {
 public:
  /// Of a spec string or a library's name. An algorithm has its colour in every report; with
  /// parameters it has the same colour and a marker that is not taken yet.
  [[nodiscard]] Look of(const std::string& label);

 private:
  std::map<std::string, Look> given_;
  int unknown_ = 0;
};

}  // namespace ringside::report
