// SPDX-License-Identifier: MIT
/// What `auto` means on the host executor until a measured table says better.
#pragma once

#include <cstddef>
#include <string>

#include "ringside/collectives/request.hpp"

namespace ringside {

/// A spec string for a request on ranks that share memory. Pure.
[[nodiscard]] std::string default_host_spec(const Request& request, std::size_t bytes);

}  // namespace ringside
