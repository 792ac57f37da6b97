// SPDX-License-Identifier: MIT
/// `ringside topo`: what a machine is, from what people have of it, and in the formats of others.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/tools/cli/output.hpp"
#include "ringside/topology/describe.hpp"
#include "ringside/topology/lint.hpp"
#include "ringside/topology/live/live.hpp"
#include "ringside/topology/load.hpp"
#include "ringside/topology/presets/presets.hpp"
#include "ringside/topology/readers/fact_values.hpp"
#include "ringside/topology/readers/facts_json.hpp"
#include "ringside/topology/writers/dot.hpp"
#include "ringside/topology/writers/json_value.hpp"
#include "ringside/topology/writers/matrix.hpp"
#include "ringside/topology/writers/measured.hpp"
#include "ringside/topology/writers/nccl_xml.hpp"
#include "ringside/topology/writers/tree.hpp"

namespace ringside::cli {
namespace {

struct TopoRequest {
  std::vector<std::string> inputs;
  std::string format;
  bool list_presets = false;
  bool lint = false;
  bool live = false;
  LiveSources sources;
};

std::string_view to_word(Severity severity) {
  return severity == Severity::note ? "note" : "warning";
}

std::string finding_text(const std::string& source, const Finding& finding) {
  const std::string where = finding.line > 0 ? fmt::format("line {}: ", finding.line) : "";
  return fmt::format("{}{}: {}{}\n", source.empty() ? "" : source + ": ", to_word(finding.severity),
                     where, finding.text);
}

std::string readings_text(const LoadedTopology& loaded) {
  std::string text;
  for (const auto& reading : loaded.readings) {
    text += fmt::format("{}: {} (lines {} to {})\n", reading.source, reading.reader,
                        reading.first_line, reading.last_line);
    for (const auto& finding : reading.findings) text += finding_text(reading.source, finding);
  }
  if (loaded.built)
    for (const auto& finding : loaded.built->findings) text += finding_text("", finding);
  return text;
}

std::string machine_text(const Topology& topology) {
  std::string text = fmt::format("{}{}\n\n{}\n", topology.name.empty() ? "" : topology.name + ": ",
                                 summary(topology), tree_text(topology));
  text += matrix_text(topology, {.legend = false});
  const auto apart = kept_apart_text(topology);
  if (!apart.empty()) text += "\nWithout peer access, as the driver says:\n" + apart;
  const auto shared = shared_links_text(topology);
  if (!shared.empty())
    text += "\nLinks that several pairs of GPUs share, in one direction:\n" + shared;
  return text;
}

std::string to_text(const LoadedTopology& loaded) {
  std::string text = readings_text(loaded);
  if (loaded.built)
    text += (text.empty() ? "" : "\n") + machine_text(loaded.built->topology);
  else
    text += "\nNo input tells how devices are linked; --format json prints what was read.\n";
  if (!loaded.measured.empty()) text += "\nMeasured:\n" + measured_text(loaded.measured);
  return text;
}

Json findings_json(std::span<const Finding> findings) {
  Json list = Json::array();
  for (const auto& finding : findings) {
    Json json = {{"severity", to_word(finding.severity)}, {"text", finding.text}};
    if (finding.line > 0) json["line"] = finding.line;
    list.push_back(std::move(json));
  }
  return list;
}

/// The facts of one file's readings, which follow one another.
Json file_json(std::span<const Reading> readings) {
  Json json = facts_json(readings);
  json["file"] = readings.front().source;
  json["readings"] = Json::array();
  for (const auto& reading : readings)
    json["readings"].push_back({{"reader", reading.reader},
                                {"first_line", reading.first_line},
                                {"last_line", reading.last_line},
                                {"findings", findings_json(reading.findings)}});
  return json;
}

Json to_json(const LoadedTopology& loaded) {
  std::vector<Json> files;
  const auto& readings = loaded.readings;
  for (auto first = readings.begin(); first != readings.end();) {
    const auto end = std::find_if(
        first, readings.end(), [&](const Reading& each) { return each.source != first->source; });
    files.push_back(file_json({first, end}));
    first = end;
  }
  Json json = files.size() == 1 ? std::move(files.front()) : Json::object();
  if (files.size() > 1) json["files"] = std::move(files);
  if (loaded.built) {
    json["topology"] = topology_json_value(loaded.built->topology);
    json["findings"] = findings_json(loaded.built->findings);
  }
  if (!loaded.measured.empty()) json["measured"] = measured_json(loaded.measured);
  return json;
}

std::string presets_text() {
  std::string text;
  for (const auto& preset : presets())
    text +=
        fmt::format("{:24} {}\n{:24} source: {}\n", preset.name, preset.summary, "", preset.source);
  return text;
}

Json presets_json() {
  Json list = Json::array();
  for (const auto& preset : presets())
    list.push_back({{"name", preset.name}, {"summary", preset.summary}, {"source", preset.source}});
  return {{"presets", std::move(list)}};
}

/// A finding and the file that it is of.
struct PlacedFinding {
  std::string source;
  Finding finding;
};

std::vector<PlacedFinding> lint(const LoadedTopology& loaded, std::span<const std::string> inputs) {
  std::vector<PlacedFinding> all;
  const auto add = [&](const std::string& source, std::vector<Finding> findings) {
    for (auto& finding : findings) all.push_back({source, std::move(finding)});
  };
  std::string previous;
  for (const auto& reading : loaded.readings) {
    add(reading.source, reading.findings);
    if (const auto* matrix = std::get_if<LinkMatrix>(&reading.facts))
      add(reading.source, lint_link_matrix(*matrix));
    if (const auto* xml = std::get_if<NcclXml>(&reading.facts)) {
      add(reading.source, lint_nccl_xml(*xml));
      // The text itself, where it can be read again.
      if (reading.source != previous && std::ranges::find(inputs, reading.source) != inputs.end())
        add(reading.source, lint_nccl_text(clean_text(read_file(reading.source))));
    }
    previous = reading.source;
  }
  if (loaded.built) {
    add("", loaded.built->findings);
    add("", lint_topology(loaded.built->topology));
  }
  std::ranges::stable_sort(
      all, {}, [](const PlacedFinding& each) { return std::pair(each.source, each.finding.line); });
  return all;
}

void run_lint(const LoadedTopology& loaded, const TopoRequest& request, int& exit_code) {
  const auto findings = lint(loaded, request.inputs);
  if (std::ranges::any_of(findings, [](const PlacedFinding& each) {
        return each.finding.severity == Severity::warning;
      }))
    exit_code = 1;
  if (request.format == "json") {
    Json list = Json::array();
    for (const auto& [source, finding] : findings) {
      Json json = findings_json({&finding, 1}).front();
      if (!source.empty()) json["file"] = source;
      list.push_back(std::move(json));
    }
    return print(dump_json({{"findings", std::move(list)}}));
  }
  for (const auto& [source, finding] : findings) print(finding_text(source, finding));
  if (findings.empty()) print("nothing is odd\n");
}

const Topology& topology_of(const LoadedTopology& loaded) {
  if (!loaded.built) throw Error(ErrorCode::bad_input, "no input tells how devices are linked");
  return loaded.built->topology;
}

void run(const TopoRequest& request, int& exit_code) {
  if (request.list_presets)
    return print(request.format == "json" ? dump_json(presets_json()) : presets_text());
  if (request.live && !request.inputs.empty())
    throw Error(ErrorCode::invalid_argument, "--live is this machine: it takes no other inputs");
  if (request.inputs.empty() && !request.live)
    throw Error(
        ErrorCode::invalid_argument,
        "name a file, - for standard input, a preset, or --live (see ringside topo --help)");
  const auto loaded =
      request.live
          ? LoadedTopology{.readings = {}, .built = read_live(request.sources), .measured = {}}
          : load_topology(request.inputs);
  if (request.lint) return run_lint(loaded, request, exit_code);
  if (request.format == "json") return print(dump_json(to_json(loaded)));
  if (request.format == "matrix") return print(matrix_text(topology_of(loaded)));
  if (request.format == "xml") return print(nccl_xml(topology_of(loaded)));
  if (request.format == "dot") return print(topology_dot(topology_of(loaded)));
  print(to_text(loaded));
}

/// Below another root lies another machine: then no library of this one is asked unless it is
/// named.
void add_live_options(CLI::App& command, TopoRequest& request) {
  auto& sources = request.sources;
  add_switch(command, "--live", request.live,
             "This machine, from the kernel, hwloc, the NVIDIA driver and the CUDA runtime");
  const auto library = [&](const char* name, auto& target, const char* text) {
    return command.add_option(name, target, text)->type_name("LIBRARY");
  };
  auto* nvml = library("--nvml", sources.nvml, "With --live: the driver's management library");
  auto* hwloc = library("--hwloc", sources.hwloc, "With --live: the hwloc library");
  auto* cuda = library("--cuda-runtime", sources.cuda, "With --live: the CUDA runtime");
  command
      .add_option_function<std::string>(
          "--root",
          [&sources, nvml, hwloc, cuda](const std::string& root) {
            sources.root = root;
            if (nvml->empty()) sources.nvml.clear();
            if (hwloc->empty()) sources.hwloc.clear();
            if (cuda->empty()) sources.cuda.clear();
          },
          "With --live: read below this folder, not /; libraries are asked only if named")
      ->type_name("FOLDER");
}

}  // namespace

void add_topo_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "topo", "Show a machine's devices and links, from what nvidia-smi, NCCL and others print");
  command->footer(
      "Files may be pasted from anywhere, quoted, cut or damaged; several describe one machine.\n"
      "What was measured between GPUs (p2pBandwidthLatencyTest, nvbandwidth, ringside bench\n"
      "--preflight) is printed with the machine.\n"
      "Formats: text (tree, matrix, shared links), json, matrix (nvidia-smi topo -m),\n"
      "xml (NCCL_TOPO_FILE), dot (Graphviz: pipe it to dot -Tsvg).");
  const auto request = std::make_shared<TopoRequest>();
  command->add_option("inputs", request->inputs, "Files, - for standard input, or a preset")
      ->type_name("FILE|PRESET");
  add_switch(*command, "--list-presets", request->list_presets, "List the machines known by name");
  add_format_option(*command, request->format, {"text", "json", "matrix", "xml", "dot"});
  add_live_options(*command, *request);
  add_switch(*command, "--lint", request->lint,
             "Say what is odd or broken in the inputs; exit code 1 when something is");
  command->callback([request, &exit_code] { run(*request, exit_code); });
}

}  // namespace ringside::cli
