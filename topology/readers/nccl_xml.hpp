// SPDX-License-Identifier: MIT
/// NCCL's and RCCL's topology XML: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads.
///
/// NCCL's own parser takes far less than XML; this one takes any XML and remarks on what NCCL would
/// refuse.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringside/topology/readers/text.hpp"

namespace ringside {

/// An element as it stands in the file.
struct XmlElement {
  std::string tag;
  int line = 0;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<XmlElement> children;

  [[nodiscard]] const std::string* attribute(std::string_view name) const;
};

struct NcclXml {
  XmlElement system;  ///< the root element and all below it
  bool well_formed = true;
  bool truncated = false;  ///< it ends before the root element does
};

/// "0x030200" is a GPU's class, 0x038000 and 0x120000 are those of AMD's.
[[nodiscard]] bool is_gpu_class(std::string_view pci_class);
[[nodiscard]] bool is_nic_class(std::string_view pci_class);
[[nodiscard]] bool is_switch_class(std::string_view pci_class);

struct Reading;

/// Throws Error(bad_input) for a document type, deep nesting, or too many elements.
[[nodiscard]] std::vector<Reading> read_nccl_xml(const Text& text);

}  // namespace ringside
