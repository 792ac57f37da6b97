// SPDX-License-Identifier: MIT
/// The PCIe links of GPUs: the block of `nvidia-smi -q`, and `nvidia-smi --query-gpu=...
/// --format=csv`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/readers/text.hpp"

namespace ringside {

/// What is told of one GPU's link.
struct PcieStatus {
  std::optional<int> index;
  std::string bus_id;  ///< as printed, "" where it is not told
  std::string model;
  std::map<std::string, int> generation;  ///< "Max", "Current", "Device Max", ... as printed
  std::map<std::string, int> width;       ///< "Max", "Current"
  std::map<std::string, int> bar1_mib;    ///< "total", "used", "free"
  std::optional<int> memory_mib;          ///< of the GPU
  std::optional<int> utilization;         ///< per cent, when all this was read
  std::optional<int> replays;             ///< packets that the link sent again since its reset

  [[nodiscard]] std::optional<int> generation_of(const std::string& key) const {
    const auto found = generation.find(key);
    return found == generation.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::optional<int> width_of(const std::string& key) const {
    const auto found = width.find(key);
    return found == width.end() ? std::nullopt : std::optional(found->second);
  }
};

/// `nvidia-smi -q`, whole or in parts.
struct SmiQuery {
  std::vector<PcieStatus> gpus;
};

/// The table that `--query-gpu` prints, with its header.
struct SmiCsv {
  std::vector<PcieStatus> gpus;
};

struct Reading;

[[nodiscard]] std::vector<Reading> read_smi_query(const Text& text);
[[nodiscard]] std::vector<Reading> read_smi_csv(const Text& text);

}  // namespace ringside
