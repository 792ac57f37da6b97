// SPDX-License-Identifier: MIT
#include "ringside/trainer/agreement.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/trainer/sha256.hpp"

namespace ringside::trainer {

void check_agreement(std::span<const Told> told, Communicator& comm) {
  std::vector<std::uint8_t> own;
  for (const auto& [what, value] : told) {
    const Digest digest = sha256(std::as_bytes(std::span(value)));
    own.insert(own.end(), digest.begin(), digest.end());
  }
  std::vector<std::uint8_t> all(own.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(own, all);
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (all[at] == all[at % own.size()]) continue;
    const auto rank = static_cast<int>(at / own.size());
    throw Error(ErrorCode::mismatch, fmt::format("rank {} was given another {} than rank 0", rank,
                                                 told[at % own.size() / Digest{}.size()].what))
        .at_rank(rank);
  }
}

}  // namespace ringside::trainer
