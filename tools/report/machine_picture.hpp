// SPDX-License-Identifier: MIT
/// A machine as SVG, its links coloured by what they carried.
#pragma once

#include <optional>
#include <string>

#include "ringside/tools/report/runs.hpp"

namespace ringside::report {

/// Links are coloured in so many steps, from nothing (0) to full.
inline constexpr int load_steps = 6;

/// What part of its capacity a link carried over the whole call, from 0 to 1.
[[nodiscard]] double share_of(const LinkLoad& load, double seconds);
[[nodiscard]] int load_step(double share);
/// "GPU0 -> switch0: 1.9 MiB, 73 % of 26 GB/s".
[[nodiscard]] std::string load_words(const LinkLoad& load, double seconds);

/// The whole <svg> element; it carries its style, in colours that a page may set (--ink, --load-3),
/// and each direction of a link is a path whose `data-link` is its name ("GPU0 -> switch0").
/// `number` tells pictures of one page apart. Nothing where there is too much to draw.
[[nodiscard]] std::optional<std::string> machine_svg(const MachineView& view, std::size_t number);

}  // namespace ringside::report
