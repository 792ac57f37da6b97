// SPDX-License-Identifier: MIT
/// D30: a virtual machine shows all GPUs at one place, whatever the host is like.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

/// So many GPUs are not at one host bridge of any machine.
constexpr int surely_many = 4;
/// Copies that differ by less tell no places apart.
constexpr double alike = 1.25;

/// All pairs over PCIe, decided, of one class that is neither a switch's nor between nodes.
std::optional<LinkClass> only_class(const std::vector<GpuPair>& pairs) {
  std::set<LinkClass> classes;
  for (const auto& pair : pairs) {
    if (pair.fabric || !pair.pcie.decided()) return std::nullopt;
    classes.insert(pair.pcie.value);
  }
  if (classes.size() != 1 || *classes.begin() < LinkClass::phb || *classes.begin() > LinkClass::sys)
    return std::nullopt;
  return *classes.begin();
}

/// Where the matrix tells of processors, all GPUs have the same ones.
bool one_affinity(const Evidence& evidence) {
  std::set<std::string> different;
  for (const auto& matrix : evidence.all<LinkMatrix>())
    for (const auto* column : {&matrix->cpu_affinity, &matrix->numa_affinity}) {
      std::set<std::string> values;
      for (const auto& [name, cell] : *column)
        if (cell && name.starts_with("GPU")) values.insert(*cell);
      if (values.size() > 1) return false;
    }
  return true;
}

/// A machine type whose vendor says what its guests do not see.
struct KnownGuest {
  std::string_view sign;  ///< in the GPUs' model, small letters
  int gpus;
  std::string_view what, file;
};
constexpr KnownGuest g5_48xlarge = {
    "a10g", 8, "AWS's g5.48xlarge, with GPU0 to GPU3 on one socket and GPU4 to GPU7 on the other",
    "g5.48xl-topo.xml of aws-ofi-nccl"};

struct Spread {
  double least = 0, most = 0;
  int pairs = 0;
};

Spread measured_spread(const Evidence& evidence, const std::vector<GpuPair>& pairs) {
  Spread spread;
  for (const auto& pair : pairs)
    for (const bool peer_access : {true, false})
      if (const auto rate = measured_pair(evidence, pair, peer_access)) {
        spread.least = spread.pairs == 0 ? *rate : std::min(spread.least, *rate);
        spread.most = std::max(spread.most, *rate);
        ++spread.pairs;
        break;
      }
  return spread;
}

std::string why_text(int gpus, LinkClass shown, const std::optional<Spread>& differ, bool known) {
  std::string why = fmt::format(
      "this is a virtual machine, and it shows all {} GPUs {} from each other with the same "
      "processors: what the host's switches and sockets are like is hidden, and NCCL plans as if "
      "all ways were alike",
      gpus, to_string(shown));
  if (differ)
    why += fmt::format("; copies between pairs range from {} to {} GB/s (measured)",
                       gb(differ->least), gb(differ->most));
  if (known) why += fmt::format(". {} such GPUs are {}", gpus, g5_48xlarge.what);
  return why;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto hypervisor = evidence.hypervisor();
  const auto pairs = gpu_pairs(evidence);
  const int gpus = evidence.gpus().value_or(0);
  const auto shown = only_class(pairs);
  if (!hypervisor || !shown || gpus < 3 || !one_affinity(evidence)) return {};
  const auto spread = measured_spread(evidence, pairs);
  const bool all_measured = spread.pairs == static_cast<int>(pairs.size());
  if (all_measured && spread.most < alike * spread.least) return {};  // it is as it looks
  const bool differ = spread.pairs > 1 && spread.most > alike * spread.least;
  Diagnosis found;
  found.certainty = gpus >= surely_many || differ ? Certainty::likely : Certainty::possible;
  const bool known = gpus == g5_48xlarge.gpus && has_model(evidence, g5_48xlarge.sign);
  found.why = why_text(gpus, *shown, differ ? std::optional(spread) : std::nullopt, known);
  found.shown = {*hypervisor};
  for (const auto& matrix : evidence.all<LinkMatrix>())
    add_lines(found.shown, evidence.rows_of(*matrix.reading, matrix->names), 4);
  found.confirm =
      "ringside bench --preflight: copies between pairs, alone and several at once, differ by "
      "where the GPUs really sit";
  found.fix = fmt::format(
      "give NCCL the topology file of the machine type, NCCL_TOPO_FILE=FILE.xml: {}. Do not "
      "trust predictions for this machine before that",
      known ? fmt::format("{} (its bus addresses are those of the guest)", g5_48xlarge.file)
            : "AWS has them in aws-ofi-nccl, Azure in azhpc-images; for another host one made by "
              "hand from what it really has (ringside topo FILE --format xml writes the format)");
  found.slowdown = 1.6;  // 16 h -> 10 h, 7 h -> 4.5 h of training at the source
  found.decided_by = {Input::pair_bandwidth, Input::concurrent_bandwidth};
  return {std::move(found)};
}

}  // namespace

Rule hidden_topology_rule() {
  return {.id = "D30",
          .title = "The virtual machine hides how its GPUs are linked",
          .source =
              "NVIDIA/nccl#1298, NVIDIA/nccl#439, Azure/azhpc-images and aws/aws-ofi-nccl "
              "topology files",
          .inputs = {Input::processors, Input::topology_matrix, Input::pair_bandwidth},
          .find = find};
}

}  // namespace ringside
