// SPDX-License-Identifier: MIT
/// Measured matrices between GPUs: CUDA's p2pBandwidthLatencyTest and NVIDIA's nvbandwidth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/measurements.hpp"
#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct PairMatrix {
  std::optional<std::string> title;  ///< as printed; nothing where it is not in the text
  std::string description;           ///< nvbandwidth's line above the columns
  int columns = 0;
  std::vector<int> row_ids;                                ///< the GPUs of the rows that are there
  std::vector<std::vector<std::optional<double>>> values;  ///< nothing for "N/A" and dashes
  int partial_rows = 0;                                    ///< rows that are cut, not among these
  std::optional<double> sum;                               ///< nvbandwidth's last line

  [[nodiscard]] bool complete() const { return static_cast<int>(values.size()) == columns; }
};

struct PeerBandwidthTest {
  int listed_devices = 0, can_access_lines = 0, cannot_access_lines = 0;
  std::vector<MeasuredDevice> devices;
  struct Access {
    int device = 0, peer = 0;
    bool can_access = false;
  };
  std::vector<Access> access;
  std::vector<PairMatrix> matrices;
  bool truncated = false;
};

struct NvBandwidth {
  std::vector<PairMatrix> tests;  ///< titled with the test's name
  std::vector<MeasuredDevice> devices;
  bool truncated = false;
};

struct Reading;

[[nodiscard]] std::vector<Reading> read_peer_bandwidth_test(const Text& text);
[[nodiscard]] std::vector<Reading> read_nvbandwidth(const Text& text);
/// The report of `nvbandwidth --json`.
[[nodiscard]] std::vector<Reading> read_nvbandwidth_json(const Text& text);

/// "NVIDIA H100 (00000000:07:00)", with whatever behind it: a device of nvbandwidth's list.
[[nodiscard]] MeasuredDevice nvbandwidth_device(int number, std::string_view text);

}  // namespace ringside
