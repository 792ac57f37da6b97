// SPDX-License-Identifier: MIT
/// Writing JSON.
#include "ringside/base/json_write.hpp"

namespace ringside {

std::string dump_json(const Json& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + '\n';
}

}  // namespace ringside
