// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/host_default.hpp"

#include "ringside/base/error.hpp"

namespace ringside {

std::string default_host_spec(const Request& request, std::size_t bytes) {
  (void)bytes;
  switch (request.collective) {
    case Collective::all_reduce:
      return "two_shot";
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
      return "direct";
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::gather:
    case Collective::scatter:
      return "linear";
    case Collective::barrier:
      break;
  }
  throw Error(ErrorCode::unsupported, "barrier needs no algorithm");
}

}  // namespace ringside
