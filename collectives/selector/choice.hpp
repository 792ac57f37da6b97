// SPDX-License-Identifier: MIT
/// What `auto` means: the choice of an algorithm from a tuning table, and its reasons.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ringside/collectives/request.hpp"
#include "ringside/collectives/selector/tuning.hpp"

namespace ringside {

/// Who asks.
struct ChoiceSetting {
  std::string backend = "host";
  int cores = 1;  ///< that the ranks run on
};

struct Choice {
  std::string spec;
  std::string
      why;  ///< one line: the row that decided, what was measured nearby, what was passed by
};

/// Looks the request up in the table; `bytes`: of all blocks of the request together. The nearest
/// row decides: as many ranks on as many cores, or the number of both that is the least factor
/// away, where ranks that have a core each and ranks that share cores are a factor of two apart. A
/// choice that cannot serve the request is passed by for the next nearest; where no row is left, an
/// algorithm that serves any request is taken.
///
/// The same answer for the same arguments (and registered algorithms), and for both placements
/// where ranks may differ in theirs. Throws Error(unsupported) for barrier, which needs none.
[[nodiscard]] Choice choose(const TuningTable& table, const ChoiceSetting& setting,
                            const Request& request, std::uint64_t bytes);

/// The same, by rows of exactly as many ranks alone; nothing where there is none that can serve the
/// request.
[[nodiscard]] std::optional<Choice> choose_measured(const TuningTable& table,
                                                    const ChoiceSetting& setting,
                                                    const Request& request, std::uint64_t bytes);

/// Why a spec cannot serve the request, in any placement that a choice is for (both, but for
/// all_reduce); nothing if it can.
[[nodiscard]] std::optional<std::string> refusal(const std::string& spec, const Request& asked);

/// The table that comes with the library.
[[nodiscard]] const TuningTable& default_tuning();

/// The table that the option `tuning` names, or the default one. A file is read once per process,
/// so that ranks cannot see two versions of it. Throws Error(io or bad_input) for a bad file.
[[nodiscard]] std::shared_ptr<const TuningTable> tuning_in_use();

}  // namespace ringside
