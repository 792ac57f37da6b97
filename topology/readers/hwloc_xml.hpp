// SPDX-License-Identifier: MIT
/// hwloc's XML, as `lstopo --of xml` writes it.
#pragma once

#include <vector>

#include "ringside/topology/build/from_pci.hpp"
#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct HwlocMachine {
  PciMachine pci;
};

struct Reading;

/// Throws Error(bad_input) for a document type with entities, deep nesting, or too many elements.
[[nodiscard]] std::vector<Reading> read_hwloc_xml(const Text& text);

}  // namespace ringside
