// SPDX-License-Identifier: MIT
/// The text of the tuning table that comes with the library, host_default.json.
#pragma once

namespace ringside {

extern const char* const host_default_json;

}  // namespace ringside
