// SPDX-License-Identifier: MIT
/// What NCCL prints with NCCL_DEBUG=INFO: rings, transports, where GPUs sit, what went wrong.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct NcclLog {
  std::string version;       ///< "2.8.3+cuda10.0"
  std::optional<int> ranks;  ///< as far as the lines tell
  std::optional<int> channels;
  std::map<int, std::vector<int>> rings;       ///< complete ones, by channel
  std::map<std::string, int> transport_lines;  ///< "P2P/CUMEM/read" -> lines
  /// The ranks of such lines, from and to, where they name both.
  std::map<std::string, std::set<std::pair<int, int>>> connections;
  std::map<int, int> devices;         ///< of a rank: 2 in "5[2]"; older versions print a bus there
  std::optional<int> highest_device;  ///< of a process or rank, counted on its host
  std::map<int, std::vector<std::string>> affinity_masks;  ///< by GPU, different ones in order
  std::map<std::string, std::string> environment;
  std::vector<std::string> warnings;
  std::vector<std::string> hosts;  ///< whose processes print, each once
  std::optional<int> boxes;        ///< nNodes, where it is stated
  std::string network;             ///< that it uses between hosts: "Socket", "IB", "IBext_v8"
  bool no_infiniband = false;      ///< it found no device or no library for InfiniBand
  bool truncated = false;
};

struct Reading;

/// One reading for all lines of a text; lines of several ranks may be interleaved.
[[nodiscard]] std::vector<Reading> read_nccl_log(const Text& text);

}  // namespace ringside
