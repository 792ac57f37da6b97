// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/input.hpp"

#include <algorithm>

namespace ringside {
namespace {

struct Row {
  Input input;
  std::string_view name, command;
};

const std::vector<Row>& rows() {
  constexpr std::string_view preflight = "ringside bench --preflight --format json";
  constexpr std::string_view lspci = "sudo lspci -vvv";
  static const std::vector<Row> all = {
      {Input::topology_matrix, "how the GPUs are linked", "nvidia-smi topo -m"},
      {Input::peer_matrix, "the driver's peer access matrix", "nvidia-smi topo -p2p r"},
      {Input::pair_bandwidth, "copies between pairs, with and without peer access", preflight},
      {Input::nccl_log, "NCCL's log",
       "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV YOUR_PROGRAM"},
      {Input::access_control, "ACS of the bridges", lspci},
      {Input::pcie_links, "widths and speeds of the PCIe links", "nvidia-smi -q"},
      {Input::collective, "a measured collective", "all_reduce_perf -b 8 -e 256M -f 2 -g NGPUS"},
      {Input::verified_copies, "copies whose data are compared", preflight},
      {Input::kernel_command_line, "the kernel's command line", "cat /proc/cmdline"},
      {Input::host_bandwidth, "copies between each GPU and the host", preflight},
      {Input::concurrent_bandwidth, "copies of several pairs at once", preflight},
      {Input::shared_memory, "the size of /dev/shm", "df /dev/shm"},
      {Input::processors, "the processors and their NUMA nodes", "lscpu"},
      {Input::bound_processors, "where the process may run",
       "grep Cpus_allowed_list /proc/PID/status"},
      {Input::bar1, "the size of BAR1", "nvidia-smi -q"},
      {Input::nvlink_status, "the state of the NVLinks", "nvidia-smi nvlink -s"},
      {Input::kernel_log, "the kernel's messages", "sudo dmesg"},
      {Input::processes, "the processes on the GPUs", "nvidia-smi"},
      {Input::limits, "the limits of the process", "ulimit -a"},
  };
  return all;
}

const Row& row_of(Input input) { return *std::ranges::find(rows(), input, &Row::input); }

}  // namespace

const std::vector<Input>& all_inputs() {
  static const std::vector<Input> all = [] {
    std::vector<Input> inputs;
    for (const auto& row : rows()) inputs.push_back(row.input);
    return inputs;
  }();
  return all;
}

std::string_view name_of(Input input) { return row_of(input).name; }
std::string command_for(Input input, std::optional<int> gpus) {
  std::string command(row_of(input).command);
  constexpr std::string_view count = "NGPUS";
  if (const auto at = command.find(count); at != std::string::npos)
    command.replace(at, count.size(), gpus ? std::to_string(*gpus) : "N");
  return command;
}

}  // namespace ringside
