// SPDX-License-Identifier: MIT
/// The machine as NCCL prints it with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=GRAPH, between
/// "=== System : maxBw ... ===" and a line of equals signs: a tree below each processor, with
/// NCCL's bandwidths. Only the GPUs of one communicator are there.
#pragma once

#include <string>
#include <vector>

#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct NcclGraph {
  /// A line: "+ PCI[24.0] - GPU/0-47000 (3)", or "CPU/0 (1/2/4)" without a link.
  struct Entry {
    std::string link;      ///< "PCI", "NVL", "SYS", "NET", ...; "" of a processor
    double bandwidth = 0;  ///< GB/s that NCCL reckons with
    std::string kind;      ///< "CPU", "PCI", "GPU", "NIC", "NET", "NVS", "DEV"
    std::string id;        ///< "0-47000": system and bus number, or just this; hexadecimal
    std::string beside;    ///< what stands in brackets: a GPU's rank
    int parent = -1;       ///< index of the entry that the link comes from
    int line = 0;

    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> entries;
  bool truncated = false;
};

struct Reading;

/// The first such tree of a log; the ranks of a machine all print the same. Lines of several may be
/// interleaved.
[[nodiscard]] std::vector<Reading> read_nccl_graph(const Text& text);

}  // namespace ringside
