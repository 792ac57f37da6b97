// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/rules/shared.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"
#include "ringside/topology/gpu_places.hpp"
#include "ringside/topology/model/link_model.hpp"
#include "ringside/topology/model/transfers.hpp"

namespace ringside {
namespace {

/// Where no matrix of the driver tells: CUDA's test, AMD's tables of access.
std::vector<ShownLine> lines_of_refusal(const Evidence& evidence) {
  std::vector<ShownLine> lines;
  for (const auto& test : evidence.all<PeerBandwidthTest>())
    add_lines(lines, evidence.lines_with(*test.reading, "CANNOT Access", 2));
  for (const auto& rocm : evidence.all<RocmTopology>())
    for (const std::string_view word : {"DISABLED", "False"})
      add_lines(lines, evidence.lines_with(*rocm.reading, word, 2));
  return lines;
}

/// Rows of `topo -p2p` and lines of CUDA's test that deny access.
std::optional<Staging> denied_by_driver(const Evidence& evidence) {
  for (const auto& pair : gpu_pairs(evidence)) {
    if (pair.fabric || pair.status.empty() || pair.status == "OK") continue;
    Staging staging{.why = fmt::format("the driver allows no peer access between {} ({})",
                                       pair.names, pair.status),
                    .lines = {},
                    .by_driver = true};
    for (const auto& matrix : evidence.all<PeerMatrix>())
      add_lines(staging.lines, evidence.rows_of(*matrix.reading, matrix->names));
    if (staging.lines.empty()) add_lines(staging.lines, lines_of_refusal(evidence));
    return staging;
  }
  for (const auto& test : evidence.all<PeerBandwidthTest>())
    if (test->cannot_access_lines > 0 && test->can_access_lines == 0)
      return Staging{.why = "CUDA says that no GPU can access another",
                     .lines = evidence.lines_with(*test.reading, "CANNOT Access", 2),
                     .by_driver = true};
  return std::nullopt;
}

}  // namespace

std::vector<GpuPair> gpu_pairs(const Evidence& evidence) {
  std::vector<GpuPair> pairs;
  const Topology* topology = evidence.topology();
  if (topology == nullptr) return pairs;
  const auto gpus = topology->gpus();
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      GpuPair pair{.first = gpu_number(*topology, gpus[i], i),
                   .second = gpu_number(*topology, gpus[j], j),
                   .pcie = link_class(*topology, gpus[i], gpus[j], Medium::pcie),
                   .fabric = false,
                   .status = peer_status(*topology, gpus[i], gpus[j]),
                   .names = fmt::format("{} and {}", topology->node(gpus[i]).name,
                                        topology->node(gpus[j]).name)};
      const auto value = link_class(*topology, gpus[i], gpus[j]).value;
      pair.fabric = value == LinkClass::nvlink || value == LinkClass::xgmi;
      if (pair.status.empty() || pair.status == "OK") {
        const auto back = peer_status(*topology, gpus[j], gpus[i]);
        if (!back.empty()) pair.status = back;
      }
      pairs.push_back(std::move(pair));
    }
  return pairs;
}

std::optional<double> measured_pair(const Evidence& evidence, const GpuPair& pair,
                                    std::optional<bool> peer_access) {
  const auto there = measured_one_way(evidence.measured, pair.first, pair.second, peer_access);
  const auto back = measured_one_way(evidence.measured, pair.second, pair.first, peer_access);
  if (there && back) return std::min(*there, *back);
  return there ? there : back;
}

std::optional<double> mean_measured(const Evidence& evidence, const std::vector<GpuPair>& pairs,
                                    std::optional<bool> peer_access,
                                    const std::function<bool(const GpuPair&)>& wanted) {
  std::vector<double> values;
  for (const auto& pair : pairs)
    if (wanted(pair))
      if (const auto value = measured_pair(evidence, pair, peer_access)) values.push_back(*value);
  return mean_of(values);
}

std::optional<double> predicted_pair(const Evidence& evidence, const GpuPair& pair,
                                     bool peer_access) try {
  const Topology* topology = evidence.topology();
  if (topology == nullptr || evidence.nvlink_untold()) return std::nullopt;
  const auto places = gpu_places(*topology, std::vector<int>{pair.first, pair.second});
  if (places.size() != 2) return std::nullopt;
  MachineSettings settings;
  settings.peer_access = peer_access;
  const Machine machine(*topology, *link_model_for(*topology).model, settings);
  const Transfer transfer{.from = {.gpu = places[0], .host = false},
                          .to = {.gpu = places[1], .host = false}};
  return transfer_rate(machine, std::span(&transfer, 1));
} catch (const Error&) {
  return std::nullopt;
}

std::optional<Staging> staging_of(const Evidence& evidence) {
  if (auto denied = denied_by_driver(evidence)) return denied;
  if (const auto disabled = switched_on(evidence, "NCCL_P2P_DISABLE"))
    return Staging{.why = "NCCL_P2P_DISABLE is set", .lines = {disabled->line}, .by_setting = true};
  if (connections_via(evidence, "SHM") > 0 && connections_via(evidence, "P2P") == 0)
    return Staging{.why = "NCCL's log says that it goes through shared memory",
                   .lines = lines_via(evidence, "SHM"),
                   .by_log = true};
  return std::nullopt;
}

std::optional<bool> peer_access_possible(const Evidence& evidence, const GpuPair& pair) {
  if (pair.status == "OK") return true;
  if (!pair.status.empty() && pair.status != "U") return false;
  const auto staging = staging_of(evidence);
  if (staging && staging->by_driver) return false;
  if (connections_via(evidence, "P2P") > 0) return true;
  if (has_model(evidence, "geforce rtx") || has_model(evidence, "tesla t4") ||
      has_model(evidence, "nvidia l4"))
    return false;
  return std::nullopt;
}

int connections_via(const Evidence& evidence, std::string_view transport) {
  int lines = 0;
  for (const auto& log : evidence.all<NcclLog>())
    for (const auto& [name, count] : log->transport_lines)
      if (name.starts_with(transport)) lines += count;
  return lines;
}

std::vector<ShownLine> lines_via(const Evidence& evidence, std::string_view transport) {
  std::vector<ShownLine> lines;
  for (const auto& log : evidence.all<NcclLog>())
    add_lines(lines, evidence.lines_with(*log.reading, fmt::format("via {}", transport), 3));
  return lines;
}

std::optional<BestRow> best_row(const Evidence& evidence, const Found<CollectiveRows>& table,
                                std::uint64_t least) {
  std::optional<BestRow> best;
  for (const auto& row : table->rows)
    for (const auto& timing : {row.out_of_place, row.in_place})
      if (timing && row.size >= least && timing->busbw > (best ? best->busbw : 0))
        best = BestRow{.busbw = timing->busbw, .bytes = row.size, .line = {}, .table = table.facts};
  if (!best) return best;
  best->line = line_of_size(evidence, table, best->bytes);
  return best;
}

std::vector<GpuLink> gpu_links(const Evidence& evidence) {
  std::vector<GpuLink> links;
  const auto name_of_gpu = [&](const PcieStatus& status, std::size_t place) {
    const auto address = parse_pci_address(status.bus_id);
    if (!status.index && address && evidence.topology() != nullptr) {
      const auto node = evidence.topology()->find(*address);
      return node ? evidence.topology()->node(*node).name : "the GPU at " + status.bus_id;
    }
    return fmt::format("GPU{}", status.index.value_or(static_cast<int>(place)));
  };
  const auto add = [&](const PcieStatus& status, const Reading* reading, std::size_t place,
                       bool under_load) {
    links.push_back({name_of_gpu(status, place), &status, reading, under_load});
  };
  for (const auto& query : evidence.all<SmiQuery>())
    for (std::size_t i = 0; i < query->gpus.size(); ++i)
      add(query->gpus[i], query.reading, i, false);
  for (const auto& csv : evidence.all<SmiCsv>())
    for (std::size_t i = 0; i < csv->gpus.size(); ++i) add(csv->gpus[i], csv.reading, i, false);
  for (const auto& report : evidence.all<PreflightReport>())
    for (std::size_t i = 0; i < report->devices.size(); ++i)
      add(report->devices[i].link, report.reading, i, true);
  return links;
}

std::vector<ShownLine> lines_of(const Evidence& evidence, const GpuLink& link,
                                std::string_view section) {
  if (std::holds_alternative<PreflightReport>(link.reading->facts)) return {};
  if (std::holds_alternative<SmiCsv>(link.reading->facts))
    return evidence.lines(
        *link.reading,
        [&](std::string_view line) {
          const auto first = trim(line.substr(0, line.find(',')));
          return (!link.status->bus_id.empty() &&
                  line.find(link.status->bus_id) != std::string_view::npos) ||
                 (link.status->index && first == std::to_string(*link.status->index));
        },
        1);
  bool in_gpu = link.status->bus_id.empty(), in_section = false;
  return evidence.lines(*link.reading, [&](std::string_view line) {
    const auto text = trim(line);
    if (text.starts_with("GPU ") && parse_pci_address(trim(text.substr(4))))
      return in_gpu = trim(text.substr(4)) == link.status->bus_id;
    if (text.find(" : ") == std::string_view::npos) return in_section = in_gpu && text == section;
    const bool value = text.starts_with("Max") || text.starts_with("Current");
    return in_section && value;
  });
}

bool is_nvidia_gpu(const LspciDevice& device) {
  const auto has = [&](std::string_view part) {
    return device.description.find(part) != std::string::npos;
  };
  return has("NVIDIA") && has("controller") && !has("Audio") && !has("USB");
}

bool has_model(const Evidence& evidence, std::string_view part) {
  return std::ranges::any_of(evidence.gpu_models(), [&](const std::string& model) {
    return to_lower(model).find(part) != std::string::npos;
  });
}

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr int most = 1 << 14;
  std::vector<int> cpus;
  for (const auto range : split(text, ',')) {
    const auto dash = range.find('-');
    const auto first = parse_int(trim(range.substr(0, dash)), 0, most);
    const auto last =
        dash == std::string_view::npos ? first : parse_int(trim(range.substr(dash + 1)), 0, most);
    if (!first || !last || *last < *first) return {};
    for (auto cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

std::optional<StatedValue> switched_on(const Evidence& evidence, std::string_view variable) {
  auto value = evidence.environment(variable);
  if (value && (value->value == "0" || value->value.empty())) return std::nullopt;
  return value;
}

void add_lines(std::vector<ShownLine>& to, const std::vector<ShownLine>& lines, std::size_t most) {
  for (const auto& line : lines)
    if (to.size() < most && !line.text.empty() && std::ranges::find(to, line) == to.end())
      to.push_back(line);
}

std::string gb(double gb_per_s) { return fmt::format("{:.3g}", gb_per_s); }

}  // namespace ringside
