// SPDX-License-Identifier: MIT
/// One question that algorithms ask which read a peer's value after that peer may have gone on.
#pragma once

#include "ringside/collectives/builder.hpp"

namespace ringside {

/// True if the value there stays for the whole call, so that anybody may read it at any time: it is
/// an input, and no output is the same memory. (A running value in an output is overwritten by the
/// result; who must read it later copies it to scratch first.)
[[nodiscard]] inline bool stays(const Group& g, const Location& value) {
  return value.buffer == Buffer::input && !g.in_place();
}

}  // namespace ringside
