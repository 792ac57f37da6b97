// SPDX-License-Identifier: MIT
/// Foreign text inside of HTML.
#pragma once

#include <string>
#include <string_view>

namespace ringside::report {

/// Fit for element content and for attributes in double quotes.
[[nodiscard]] std::string escaped(std::string_view text);

/// JSON fit for the content of a <script> element: whatever stands in its strings, no end tag, no
/// comment, and none of the line separators that JavaScript knows and JSON does not. It parses to
/// the same value.
[[nodiscard]] std::string script_json(std::string_view json);

/// What a Content-Security-Policy calls a script by: "'sha256-...'" of its SHA-256 in hexadecimal.
[[nodiscard]] std::string script_hash(std::string_view hexadecimal);

}  // namespace ringside::report
