// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/reading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "ringside/base/error.hpp"
#include "ringside/topology/readers/own_json.hpp"

namespace ringside {
namespace {

std::string what_is_understood() {
  std::vector<std::string_view> names;
  for (const auto& reader : readers()) names.push_back(reader.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"nvidia-smi topo -m, -mp", read_link_matrices},
      {"nvidia-smi topo -p2p", read_peer_matrices},
      {"nvidia-smi nvlink -s", read_nvlink_status},
      {"nvidia-smi -q", read_smi_query},
      {"nvidia-smi --query-gpu CSV", read_smi_csv},
      {"NCCL topology XML", read_nccl_xml},
      {"hwloc XML", read_hwloc_xml},
      {"NCCL INFO logs", read_nccl_log},
      {"NCCL's graph (NCCL_DEBUG_SUBSYS=GRAPH)", read_nccl_graph},
      {"rocm-smi --showtopo", read_rocm_topology},
      {"rocm-smi --showtopo --json", read_rocm_json},
      {"amd-smi topology", read_amd_smi},
      {"lspci -vvv", read_lspci_links},
      {"lspci -t", read_lspci_tree},
      {"p2pBandwidthLatencyTest", read_peer_bandwidth_test},
      {"nvbandwidth", read_nvbandwidth},
      {"nvbandwidth --json", read_nvbandwidth_json},
      {"nccl-tests and rccl-tests", read_collective_rows},
      {"nccl-tests --json and Ringside's bench", read_collective_json},
      {"Ringside's preflight", read_preflight_report},
      {"Ringside's topology JSON", read_own_json},
      {"the host (/proc/cmdline, df /dev/shm, ulimit, lscpu, dmesg, environment)", read_host_facts},
  };
  return all;
}

std::vector<Reading> read_with_all(const Text& text) {
  std::vector<Reading> readings;
  for (const auto& reader : readers())
    std::ranges::move(reader.read(text), std::back_inserter(readings));
  std::ranges::stable_sort(readings, {}, &Reading::first_line);
  return readings;
}

std::vector<Reading> read_text(std::string_view raw, const std::string& source) try {
  auto readings = read_with_all(clean_text(raw));
  if (readings.empty())
    throw Error(
        ErrorCode::bad_input,
        fmt::format("nothing here that is understood; understood are: {}", what_is_understood()));
  for (auto& reading : readings) reading.source = source;
  return readings;
} catch (const Error& error) {
  if (error.code() != ErrorCode::bad_input) throw;
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", source, error.what()));
}

}  // namespace ringside
