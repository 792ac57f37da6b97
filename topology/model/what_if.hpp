// SPDX-License-Identifier: MIT
/// What if the machine were another: changes in words, each a pure function from a machine's
/// description to a changed one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/model/machine.hpp"

namespace ringside {

/// All that makes a Machine.
struct MachineDescription {
  Topology topology;
  LinkModel model;
  MachineSettings settings;
};

/// A kind of change, for help texts.
struct WhatIfWord {
  std::string_view form;     ///< "slot:GPU=xN"
  std::string_view meaning;  ///< "the GPU sits in a slot with N lanes"
};
[[nodiscard]] const std::vector<WhatIfWord>& what_if_words();

/// The machine with one of these changes. Throws Error(bad_input): one line that lists the words,
/// or names the nearest device.
[[nodiscard]] MachineDescription with_what_if(MachineDescription machine, std::string_view text);
/// Throws Error(bad_input) where two of the changes say different things of the same.
void check_what_ifs(std::span<const std::string> texts);

/// The machine with a figure given: `NAME=NUMBER`, where NAME is one of the model's figures
/// ("pcie4.x16.bandwidth", in its unit), a PCIe width that it has none of ("pcie4.x8.bandwidth"),
/// or a link by its ends ("GPU3-switch0": GB/s of data, in both directions). Throws
/// Error(bad_input) for what no such figure can be, and with the nearest name where there is none
/// of that name.
[[nodiscard]] MachineDescription with_figure(MachineDescription machine, std::string_view setting);

}  // namespace ringside
