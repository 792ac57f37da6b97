// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/host_default.hpp"

#include <fmt/format.h>

#include "ringside/base/error.hpp"

namespace ringside {

std::string default_host_spec(const Request& request, std::size_t bytes) {
  if (request.collective != Collective::all_reduce)
    throw Error(ErrorCode::unsupported,
                fmt::format("there is no algorithm for {} yet", to_string(request.collective)));
  (void)bytes;
  return "two_shot";
}

}  // namespace ringside
