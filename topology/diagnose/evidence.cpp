// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/one_machine.hpp"
#include "ringside/topology/load.hpp"
#include "ringside/topology/model/assumptions.hpp"
#include "ringside/topology/readers/text.hpp"

namespace ringside {
namespace {

constexpr std::size_t longest_shown = 160;  // what a terminal shows in one or two rows

ShownLine shown(const Evidence::Source& source, const TextLine& line) {
  std::string text(trim(line.text));
  std::ranges::replace(text, '\t', ' ');
  if (text.size() > longest_shown) text = text.substr(0, longest_shown) + "...";
  return {.source = source.name, .number = line.number, .text = std::move(text)};
}

/// The lines of a reading, in the text that it was read from.
std::span<const TextLine> lines_of(const Evidence& evidence, const Reading& reading,
                                   const Evidence::Source** from) {
  for (const auto& source : evidence.sources) {
    if (source.name != reading.source) continue;
    *from = &source;
    return lines_between(source.text, reading.first_line - 1, reading.last_line + 1);
  }
  return {};
}

/// Facts about the host may lie far apart, with anything between them.
bool tells(const Reading& reading, int line) {
  if (const auto* host = std::get_if<HostFacts>(&reading.facts))
    return std::ranges::find(host->facts, line, &HostFact::line) != host->facts.end();
  return reading.first_line <= line && line <= reading.last_line;
}

/// Of the legends that nvidia-smi prints below its matrices: "PHB  = Connection traversing ...",
/// "NIC0: mlx5_0". The readers take from them what there is.
bool is_legend(std::string_view line) {
  constexpr std::array<std::string_view, 15> keys = {"X",   "SYS", "SOC", "NODE", "PHB",
                                                     "PXB", "PIX", "NV#", "OK",   "CNS",
                                                     "GNS", "TNS", "NS",  "DR",   "U"};
  if (line == "Legend:" || line == "NIC Legend:") return true;
  const auto words = split_blanks(line);
  if (words.size() > 2 && words[1] == "=")
    return std::ranges::find(keys, words.front()) != keys.end();
  return words.size() == 2 && words.front().starts_with("NIC") && words.front().ends_with(':') &&
         parse_int(words.front().substr(3, words.front().size() - 4));
}

/// A comment, a command behind its prompt, a legend, or a rule that is drawn: nobody expects more
/// of it.
bool tells_nothing(std::string_view line) {
  line = trim(line);
  return line.starts_with('#') || line.starts_with("$ ") || is_legend(line) ||
         line.find_first_not_of("-=+|_ ") == std::string_view::npos;
}

void count_lines(Evidence::Source& source, std::span<const Reading> readings) {
  for (const auto& line : source.text.lines) {
    if (tells_nothing(line.text)) continue;
    ++source.lines;
    const bool known = std::ranges::any_of(
        readings, [&](const Reading& reading) { return tells(reading, line.number); });
    if (!known) ++source.unknown;
  }
}

/// Names are what readings are found by: two files of one name get different ones.
std::string unused_name(std::span<const Evidence::Source> sources, const std::string& wanted) {
  std::string name = wanted;
  const auto is_used = [&] {
    return std::ranges::find(sources, name, &Evidence::Source::name) != sources.end();
  };
  for (int again = 2; is_used(); ++again) name = fmt::format("{} ({})", wanted, again);
  return name;
}

void add_text(Evidence& evidence, const EvidenceText& given) try {
  Evidence::Source source;
  source.name = unused_name(evidence.sources, given.source);
  source.text = clean_text(given.text);
  auto readings = read_with_all(source.text);
  for (auto& reading : readings) reading.source = source.name;
  count_lines(source, readings);
  evidence.sources.push_back(std::move(source));
  std::ranges::move(readings, std::back_inserter(evidence.readings));
} catch (const Error& error) {
  if (error.code() != ErrorCode::bad_input) throw;
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", given.source, error.what()));
}

void add_models(const std::vector<PcieStatus>& gpus, std::vector<std::string>& models) {
  for (const auto& gpu : gpus) models.push_back(gpu.model);
}

/// Of the environment: NCCL's log prints what it found, which is what counts.
std::optional<StatedValue> logged_variable(const Evidence& evidence, std::string_view variable) {
  for (const auto& log : evidence.all<NcclLog>()) {
    const auto found = log->environment.find(std::string(variable));
    if (found == log->environment.end()) continue;
    const auto lines = evidence.lines(*log.reading, [&](std::string_view line) {
      return line.find(variable) != std::string_view::npos &&
             line.find("set by environment") != std::string_view::npos;
    });
    return StatedValue{found->second, lines.empty() ? ShownLine{} : lines.front()};
  }
  return std::nullopt;
}

/// A job on some of the GPUs, or a log of another machine: nobody can tell.
void note_smaller_logs(Evidence& evidence) {
  if (evidence.topology() == nullptr) return;
  const auto gpus = static_cast<int>(evidence.topology()->gpus().size());
  for (const auto& log : evidence.all<NcclLog>())
    if (const int ranks = log->ranks.value_or(gpus); ranks < gpus && log->hosts.size() == 1)
      evidence.built->findings.push_back(
          {Severity::note, 0,
           fmt::format("NCCL's log in {} has {} ranks, the machine {} GPUs: the log may be of "
                       "another one",
                       log.reading->source, ranks, gpus)});
}

}  // namespace

std::optional<int> Evidence::gpus() const {
  if (const auto* machine = topology(); machine != nullptr && !machine->gpus().empty())
    return static_cast<int>(machine->gpus().size());
  std::optional<int> most;
  const auto note = [&](std::size_t count) {
    if (count > 0) most = std::max(most.value_or(0), static_cast<int>(count));
  };
  for (const auto& query : all<SmiQuery>()) note(query->gpus.size());
  for (const auto& csv : all<SmiCsv>()) note(csv->gpus.size());
  for (const auto& report : all<PreflightReport>()) note(report->devices.size());
  for (const auto& test : all<PeerBandwidthTest>()) note(test->devices.size());
  for (const auto& pair : measured.pairs)
    note(static_cast<std::size_t>(std::max(pair.from, pair.to) + 1));
  return most;
}

bool Evidence::nvlink_untold() const {
  const auto* machine = topology();
  if (machine == nullptr || machine->gpus().size() < 2) return false;
  const bool has_fabric = std::ranges::any_of(machine->links(), [](const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
  });
  if (has_fabric || !all<NvlinkStatus>().empty()) return false;
  const auto has_line = [&](std::string_view part) {
    return std::ranges::any_of(sources, [&](const Source& source) {
      return std::ranges::any_of(source.text.lines, [&](const TextLine& line) {
        return line.text.find(part) != std::string_view::npos;
      });
    });
  };
  if (has_line("topo -mp")) return true;
  if (has_line("topo -m") || has_line("NV#")) return false;  // a legend that has NVLink's class
  const auto models = gpu_models();
  const bool modules = std::ranges::any_of(models, [](const std::string& model) {
    return to_lower(model).find("sxm") != std::string::npos;
  });
  return modules || (models.empty() && !all<NcclXml>().empty() && lists_only_buses(*machine));
}

bool Evidence::has(Input input) const {
  const auto has_pcie = [](const std::vector<PcieStatus>& gpus, auto member) {
    return std::ranges::any_of(gpus, [&](const PcieStatus& gpu) { return !(gpu.*member).empty(); });
  };
  const auto any_status = [&](auto member) {
    for (const auto& query : all<SmiQuery>())
      if (has_pcie(query->gpus, member)) return true;
    for (const auto& csv : all<SmiCsv>())
      if (has_pcie(csv->gpus, member)) return true;
    return false;
  };
  const auto any_lspci = [&](auto member) {
    for (const auto& links : all<LspciLinks>())
      if (std::ranges::any_of(links->devices,
                              [&](const LspciDevice& each) { return (each.*member).has_value(); }))
        return true;
    return false;
  };
  const auto any_host = [&](HostFactKind kind) {
    for (const auto& facts : all<HostFacts>())
      if (std::ranges::find(facts->facts, kind, &HostFact::kind) != facts->facts.end()) return true;
    return false;
  };
  const auto any_pair = [&](bool with_host) {
    return std::ranges::any_of(measured.pairs, [&](const PairMeasurement& pair) {
      return pair.from != pair.to &&
             (pair.from == host_memory || pair.to == host_memory) == with_host;
    });
  };
  switch (input) {
    case Input::topology_matrix:
      return built && !built->topology.links().empty() && !nvlink_untold();
    case Input::peer_matrix:
      return built && !built->topology.peer_access.empty();
    case Input::pcie_links:
      return any_status(&PcieStatus::width) || any_lspci(&LspciDevice::status);
    case Input::access_control:
      return any_lspci(&LspciDevice::acs) ||
             (built && std::ranges::any_of(built->topology.nodes(), [](const Node& node) {
                return node.details.contains("acs_redirect");
              }));
    case Input::kernel_command_line:
      return any_host(HostFactKind::kernel_parameter);
    case Input::shared_memory:
      return any_host(HostFactKind::shared_memory);
    case Input::limits:
      return any_host(HostFactKind::limit);
    case Input::processors:
      return any_host(HostFactKind::processor);
    case Input::bound_processors:
      return any_host(HostFactKind::allowed_cpus);
    case Input::bar1:
      return any_status(&PcieStatus::bar1_mib);
    case Input::pair_bandwidth:
      return any_pair(false);
    case Input::host_bandwidth:
      return any_pair(true);
    case Input::verified_copies:
      return std::ranges::any_of(all<PreflightReport>(),
                                 [](const auto& report) { return report->checks > 0; });
    case Input::concurrent_bandwidth:
      return std::ranges::any_of(all<PreflightReport>(),
                                 [](const auto& report) { return !report->at_once.empty(); });
    case Input::collective:
      return !all<CollectiveRows>().empty();
    case Input::nccl_log:
      return !all<NcclLog>().empty();
    case Input::nvlink_status:
      return !all<NvlinkStatus>().empty();
    case Input::processes:
      return any_host(HostFactKind::process);
    case Input::kernel_log:
      return any_host(HostFactKind::complaint);
  }
  return false;
}

std::vector<StatedValue> Evidence::host(HostFactKind kind, std::string_view key) const {
  std::vector<StatedValue> found;
  for (const auto& facts : all<HostFacts>())
    for (const auto& fact : facts->facts)
      if (fact.kind == kind && fact.key == key)
        found.push_back({fact.value, line(facts.reading->source, fact.line).value_or(ShownLine{})});
  return found;
}

std::optional<StatedValue> Evidence::host_value(HostFactKind kind, std::string_view key) const {
  auto values = host(kind, key);
  if (values.empty()) return std::nullopt;
  return std::move(values.back());
}

std::optional<StatedValue> Evidence::environment(std::string_view variable) const {
  if (auto logged = logged_variable(*this, variable)) return logged;
  auto stated = host_value(HostFactKind::environment, variable);
  return stated && !stated->value.empty() ? stated : std::nullopt;
}

std::optional<ShownLine> Evidence::hypervisor() const {
  if (auto flag = host_value(HostFactKind::hypervisor, "flag")) return flag->line;
  return std::nullopt;
}

std::vector<std::string> Evidence::gpu_models() const {
  std::vector<std::string> models;
  if (const auto* machine = topology())
    for (const NodeId gpu : machine->gpus())
      models.push_back(machine->node(gpu).model.value_or(""));
  for (const auto& query : all<SmiQuery>()) add_models(query->gpus, models);
  for (const auto& csv : all<SmiCsv>()) add_models(csv->gpus, models);
  for (const auto& status : all<NvlinkStatus>())
    for (const auto& gpu : status->gpus) models.push_back(gpu.model);
  for (const auto& test : all<PeerBandwidthTest>())
    for (const auto& device : test->devices) models.push_back(device.model);
  for (const auto& test : all<NvBandwidth>())
    for (const auto& device : test->devices) models.push_back(device.model);
  for (const auto& table : all<CollectiveRows>())
    for (const auto& rank : table->listed) models.push_back(rank.model);
  std::vector<std::string> different;
  for (auto& model : models)
    if (!model.empty() && std::ranges::find(different, model) == different.end())
      different.push_back(std::move(model));
  return different;
}

std::optional<ShownLine> Evidence::line(std::string_view source, int number) const {
  for (const auto& each : sources) {
    if (each.name != source) continue;
    for (const auto& line : lines_between(each.text, number - 1, number + 1))
      return shown(each, line);
  }
  return std::nullopt;
}

std::vector<ShownLine> Evidence::lines(const Reading& reading,
                                       const std::function<bool(std::string_view)>& fits,
                                       std::size_t most) const {
  std::vector<ShownLine> found;
  const Source* source = nullptr;
  for (const auto& line : lines_of(*this, reading, &source)) {
    if (found.size() == most) break;
    if (fits(line.text)) found.push_back(shown(*source, line));
  }
  return found;
}

std::vector<ShownLine> Evidence::lines_with(const Reading& reading, std::string_view part,
                                            std::size_t most) const {
  return lines(
      reading, [&](std::string_view line) { return line.find(part) != std::string_view::npos; },
      most);
}

std::vector<ShownLine> Evidence::rows_of(const Reading& reading,
                                         std::span<const std::string> devices) const {
  return lines(reading, [&](std::string_view line) {
    const auto words = split_blanks(line);
    // A row has its device's name first, and once; the heading has all of them.
    return words.size() > 1 && std::ranges::find(devices, words.front()) != devices.end() &&
           !words[1].starts_with("GPU");
  });
}

Evidence read_evidence(std::span<const EvidenceText> texts) {
  Evidence evidence;
  for (const auto& text : texts) add_text(evidence, text);
  if (evidence.readings.empty())
    throw Error(ErrorCode::bad_input,
                "nothing here that is understood: see ringside diagnose --help for what is");
  check_one_machine(evidence.readings);
  auto loaded = load_readings(std::move(evidence.readings));
  evidence.readings = std::move(loaded.readings);
  evidence.built = std::move(loaded.built);
  evidence.measured = std::move(loaded.measured);
  note_smaller_logs(evidence);
  return evidence;
}

Evidence load_evidence(std::span<const std::string> inputs) {
  std::vector<EvidenceText> texts;
  for (const auto& input : inputs) {
    if (auto preset = preset_of_input(input)) {
      check_alone(input, inputs.size());
      return evidence_of({.topology = std::move(*preset), .findings = {}});
    }
    texts.push_back({source_name(input), text_of_input(input)});
  }
  return read_evidence(texts);
}

Evidence evidence_of(BuiltTopology built) {
  Evidence evidence;
  evidence.built = std::move(built);
  return evidence;
}

std::string peer_status(const Topology& topology, NodeId from, NodeId to) {
  std::string status;
  for (const auto& access : topology.peer_access) {
    if (access.from != from || access.to != to) continue;
    if (access.capability == "n" || access.capability == "a") continue;  // NVLink, atomics
    if (status.empty() || status == "OK") status = access.status;
  }
  return status;
}

std::optional<double> measured_one_way(const Measurements& measured, int from, int to,
                                       std::optional<bool> peer_access) {
  const auto one = measured.bandwidth({.from = from, .to = to, .peer_access = peer_access});
  if (one) return one;
  const auto both = measured.bandwidth(
      {.from = from, .to = to, .traffic = MeasuredTraffic::both_ways, .peer_access = peer_access});
  return both ? std::optional(*both / 2) : std::nullopt;
}

std::optional<double> mean_of(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace ringside
