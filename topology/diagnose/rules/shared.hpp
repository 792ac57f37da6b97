// SPDX-License-Identifier: MIT
/// What several rules look at: pairs of GPUs with all that is known of each, transports of a log,
/// the best of a table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/diagnose/rule.hpp"
#include "ringside/topology/path.hpp"

namespace ringside {

/// An unordered pair; GPUs by their numbers.
struct GpuPair {
  int first = 0, second = 0;
  PairClass pcie;       ///< how near over PCIe
  bool fabric = false;  ///< joined by NVLink or xGMI
  std::string status;   ///< of peer access, both directions: the first that is not OK; "" unknown
  std::string names;    ///< "GPU0 and GPU1"
};

/// All of a machine's; none where the inputs do not tell how GPUs are linked.
[[nodiscard]] std::vector<GpuPair> gpu_pairs(const Evidence& evidence);

/// Of a pair, GB/s one way in either direction, the lesser of the two.
[[nodiscard]] std::optional<double> measured_pair(const Evidence& evidence, const GpuPair& pair,
                                                  std::optional<bool> peer_access);

/// The mean of what was measured for pairs that are asked for; nothing where there is none.
[[nodiscard]] std::optional<double> mean_measured(
    const Evidence& evidence, const std::vector<GpuPair>& pairs, std::optional<bool> peer_access,
    const std::function<bool(const GpuPair&)>& wanted);

/// What a copy between them would get on the machine as its link model knows it, alone and one way:
/// GB/s, predicted. Nothing where the twin cannot tell.
[[nodiscard]] std::optional<double> predicted_pair(const Evidence& evidence, const GpuPair& pair,
                                                   bool peer_access);

/// What shows that data between GPUs go through the host's memory.
struct Staging {
  std::string why;  ///< "the driver allows no peer access (GNS)"
  std::vector<ShownLine> lines;
  bool by_log = false;      ///< NCCL's log shows it
  bool by_driver = false;   ///< the driver states it
  bool by_setting = false;  ///< a variable asks for it
};
[[nodiscard]] std::optional<Staging> staging_of(const Evidence& evidence);

/// Whether GPUs of this pair reach each other's memory over PCIe: as the driver, CUDA or NCCL's log
/// tells; no where the model is known to have no peer access. Nothing where nothing tells: CUDA's
/// test measures "P2P=Enabled" also where there is none, by copies through the host.
[[nodiscard]] std::optional<bool> peer_access_possible(const Evidence& evidence,
                                                       const GpuPair& pair);

/// Connections in NCCL's logs whose transport begins with this ("SHM", "P2P", "NET/Socket").
[[nodiscard]] int connections_via(const Evidence& evidence, std::string_view transport);
[[nodiscard]] std::vector<ShownLine> lines_via(const Evidence& evidence,
                                               std::string_view transport);

/// A table's best bus bandwidth among messages of at least `least` bytes.
struct BestRow {
  double busbw = 0;  ///< GB/s, measured
  std::uint64_t bytes = 0;
  ShownLine line;
  const CollectiveRows* table = nullptr;
};
[[nodiscard]] std::optional<BestRow> best_row(const Evidence& evidence,
                                              const Found<CollectiveRows>& table,
                                              std::uint64_t least = std::uint64_t{1} << 20);

/// What some input tells of one GPU's link.
struct GpuLink {
  std::string name;  ///< "GPU3"
  const PcieStatus* status = nullptr;
  const Reading* reading = nullptr;
  bool under_load = false;  ///< "Max" is what a busy link came to (preflight)
};
[[nodiscard]] std::vector<GpuLink> gpu_links(const Evidence& evidence);
/// Of `nvidia-smi -q` the GPU's heading and the values of a section ("Link Width"), of a table its
/// row.
[[nodiscard]] std::vector<ShownLine> lines_of(const Evidence& evidence, const GpuLink& link,
                                              std::string_view section);

/// Of a list of devices: a GPU of NVIDIA, not its audio or USB functions.
[[nodiscard]] bool is_nvidia_gpu(const LspciDevice& device);

/// Whether a model of GPU is there; the part in any case ("rtx 4090", "geforce").
[[nodiscard]] bool has_model(const Evidence& evidence, std::string_view part);

/// "0-3,8" -> 0 1 2 3 8; empty for anything else.
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view text);

/// A variable that is set to anything but 0.
[[nodiscard]] std::optional<StatedValue> switched_on(const Evidence& evidence,
                                                     std::string_view variable);

/// Adds up to `most` lines in all.
void add_lines(std::vector<ShownLine>& to, const std::vector<ShownLine>& lines,
               std::size_t most = 6);

/// "12.3"
[[nodiscard]] std::string gb(double gb_per_s);

}  // namespace ringside
