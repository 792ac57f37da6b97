// SPDX-License-Identifier: MIT
/// All specs that may be worth a try for a request on a machine: algorithms x orders of the ranks x
/// who moves the data x groups and what runs inside and across them. Slices and lanes, which every
/// spec takes, are not told apart here (predicted_choice.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ringside/collectives/request.hpp"
#include "ringside/collectives/spec.hpp"
#include "ringside/topology/model/machine.hpp"

namespace ringside {

struct Candidate {
  Spec spec;
  bool fits = false;  ///< works in groups that are the machine's (groupings.hpp)

  bool operator==(const Candidate&) const = default;
};

struct Candidates {
  /// Each can serve the request; none twice. What is simplest comes first.
  std::vector<Candidate> listed;
  /// What serves the collective but not this request: the spec, and the algorithm's reason.
  struct Refused {
    std::string spec, why;
  };
  std::vector<Refused> refused;
  /// Orders that were left out because others load the links less, or as little with less delay.
  std::size_t orders_left_out = 0;
};

/// How far to look.
enum class Breadth {
  fitting,  ///< orders and groups that fit the machine
  all,      ///< of up to 8 ranks all orders and equal groups, up to what the machine does not tell
            ///< apart; of more ranks as `fitting`
};

/// `gpus`: of each rank. A request that ranks may make in different placements is looked at in
/// both. Throws Error(unsupported) for barrier.
[[nodiscard]] Candidates candidates(const Machine& machine, std::span<const int> gpus,
                                    const Request& request, Breadth breadth = Breadth::fitting);

}  // namespace ringside
