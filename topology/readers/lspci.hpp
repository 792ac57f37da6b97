// SPDX-License-Identifier: MIT
/// `lspci`: which devices there are. `lspci -vvv`: what the links of devices could do and do
/// (LnkCap, LnkSta), and whether switches send peer traffic up to the processor (ACSCtl). `lspci
/// -t`: the tree of buses.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct LinkCapability {
  std::string speed, width;  ///< "16GT/s", "x16", as printed
};

struct LinkStatus {
  std::string speed, speed_flag, width, width_flag;  ///< flags: "ok", "downgraded", ""
};

struct AcsControl {
  std::map<std::string, bool> bits;  ///< "ReqRedir" -> on
  bool complete = true;

  [[nodiscard]] bool is_on(const std::string& bit) const {
    const auto found = bits.find(bit);
    return found != bits.end() && found->second;
  }
  /// Peer traffic goes up to the root complex.
  [[nodiscard]] bool redirects() const {
    return is_on("ReqRedir") || is_on("CmpltRedir") || is_on("UpstreamFwd");
  }
};

/// One device, or a piece of one whose address was not pasted.
struct LspciDevice {
  std::string address;      ///< "31:00.0", "" where it is not told
  std::string description;  ///< "3D controller: NVIDIA ..."
  std::optional<LinkCapability> capability;
  std::optional<LinkStatus> status;
  std::optional<AcsControl> acs;
  std::optional<int> numa;  ///< its NUMA node
  /// Of a bridge: the first and the last bus below it.
  struct Buses {
    int secondary = 0, subordinate = 0;
  };
  std::optional<Buses> buses;
  int line = 0;                       ///< of its heading; 0 where its address was not pasted
  int status_line = 0, acs_line = 0;  ///< of LnkSta and ACSCtl
};

struct LspciLinks {
  std::vector<LspciDevice> devices;  ///< of which something is told
  std::vector<LspciDevice> listed;   ///< display and network controllers that are only named
};

struct LspciTree {
  std::vector<std::string> roots;  ///< "0000:00"
  struct Bridge {
    std::string address, buses;  ///< "01.2", "02-09"
  };
  std::vector<Bridge> bridges;
  /// Each with the bridge that it is below, as far as the drawing's columns tell.
  struct Function {
    PciAddress address;
    std::optional<PciAddress> parent;
    std::string root;         ///< "0000:00"
    std::string description;  ///< with `-v`, else ""
    bool is_bridge = false;

    bool operator==(const Function&) const = default;
  };
  std::vector<Function> functions;
  bool columns_lost = false;  ///< a branch does not lie under any other
  int gpu_lines = 0;
  bool truncated = false;
};

/// The bridges of the list that lie above a device, the nearest first.
[[nodiscard]] std::vector<const LspciDevice*> bridges_above(const LspciLinks& links,
                                                            const LspciDevice& device);

struct Reading;

[[nodiscard]] std::vector<Reading> read_lspci_links(const Text& text);
[[nodiscard]] std::vector<Reading> read_lspci_tree(const Text& text);

}  // namespace ringside
