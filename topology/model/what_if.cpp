// SPDX-License-Identifier: MIT
#include "ringside/topology/model/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/model/link_rates.hpp"
#include "ringside/topology/model/named_links.hpp"

namespace ringside {
namespace {

constexpr int most_nvlink_generation = 5;
constexpr std::array widths = {1, 2, 4, 8, 16, 32};

/// "slot:GPU3=x4" in its three parts.
struct Word {
  std::string_view text, subject, object, value;
};

Word parse(std::string_view text) {
  Word word{.text = text, .subject = {}, .object = {}, .value = {}};
  const auto equals = text.rfind('=');
  const auto head = text.substr(0, equals);
  if (equals != std::string_view::npos) word.value = text.substr(equals + 1);
  const auto colon = head.find(':');
  word.subject = head.substr(0, colon);
  if (colon != std::string_view::npos) word.object = head.substr(colon + 1);
  return word;
}

[[noreturn]] void fail_unknown(const Word& word) {
  std::vector<std::string_view> forms;
  for (const auto& known : what_if_words()) forms.push_back(known.form);
  throw Error(ErrorCode::bad_input,
              fmt::format("what if {}? Known are {}", quote(word.text), fmt::join(forms, ", ")));
}

NodeId gpu_named(const Topology& topology, const Word& word) {
  std::vector<std::string_view> names;
  const auto number = parse_int(word.object);
  for (const NodeId gpu : topology.gpus()) {
    if (topology.node(gpu).name == word.object || (number && topology.node(gpu).number == *number))
      return gpu;
    names.emplace_back(topology.node(gpu).name);
  }
  throw Error(ErrorCode::bad_input,
              fmt::format("{}: there is no GPU {}{}", quote(word.text), quote(word.object),
                          did_you_mean(word.object, names)));
}

bool switched_on(const Word& word) {
  if (word.value == "on") return true;
  if (word.value == "off") return false;
  fail_unknown(word);
}

int number_after(const Word& word, std::string_view prefix, int most) {
  if (!word.value.starts_with(prefix)) fail_unknown(word);
  const auto number = parse_int(word.value.substr(prefix.size()), 1, most);
  if (!number) fail_unknown(word);
  return static_cast<int>(*number);
}

int width_after(const Word& word) {
  const int width = number_after(word, "x", std::numeric_limits<int>::max());
  if (std::ranges::find(widths, width) == widths.end())
    throw Error(ErrorCode::bad_input, fmt::format("{}: PCIe links have {} lanes", quote(word.text),
                                                  fmt::join(widths, ", ")));
  return width;
}

LinkId slot_of(const Topology& topology, const Word& word) {
  const NodeId gpu = gpu_named(topology, word);
  const auto up = topology.link_up(gpu);
  if (!up || topology.link(*up).kind != LinkKind::pcie)
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: no PCIe link of {} is known", quote(word.text), word.object));
  return *up;
}

/// Both directions; a bandwidth that is stated goes with the lanes.
void set_width(Topology& topology, LinkId id, int width) {
  for (const LinkId each : {id, Topology::reverse(id)}) {
    Link& link = topology.link(each);
    if (link.bandwidth)
      *link.bandwidth *= static_cast<double>(width) / link.width.value_or(full_pcie_width);
    link.width = width;
  }
}

/// Both directions; a bandwidth that is stated was that of another generation.
void set_generation(Topology& topology, LinkId id, int generation) {
  for (const LinkId each : {id, Topology::reverse(id)}) {
    Link& link = topology.link(each);
    if (link.generation != generation) link.bandwidth.reset();
    link.generation = generation;
  }
}

void change_generation(Topology& topology, const Word& word) {
  const int generation = number_after(word, "gen", most_pcie_generation);
  if (!word.object.empty()) {
    set_generation(topology, slot_of(topology, word), generation);
    return;
  }
  for (LinkId id = 0; id < static_cast<LinkId>(topology.links().size()); id += 2)
    if (topology.link(id).kind == LinkKind::pcie) set_generation(topology, id, generation);
}

/// Of all NVLinks; where the class was that of the generation before, it changes with it.
void change_nvlink(MachineDescription& machine, int generation) {
  const bool is_usual = machine.model.name == link_model_for(machine.topology).model->name;
  for (LinkId id = 0; id < static_cast<LinkId>(machine.topology.links().size()); ++id)
    if (machine.topology.link(id).kind == LinkKind::nvlink)
      machine.topology.link(id).generation = generation;
  if (is_usual) machine.model = *link_model_for(machine.topology).model;
}

Topology without_links(const Topology& topology, const auto& goes) {
  return part_of(
      topology, [](NodeId) { return true; }, [&](LinkId id) { return !goes(id); });
}

Topology without_link(const Topology& topology, const Word& word) {
  if (word.value != "off") fail_unknown(word);
  const auto links = links_named(topology, word.object);
  if (links.empty()) {
    const auto names = link_names(topology);
    const std::vector<std::string_view> views(names.begin(), names.end());
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: there is no link {}{}", quote(word.text), quote(word.object),
                            did_you_mean(word.object, views)));
  }
  return without_links(topology, [&](LinkId id) {
    return id == links.front() || Topology::reverse(id) == links.front();
  });
}

Mover mover_named(const Word& word) {
  if (word.value == "kernel") return Mover::kernel;
  if (word.value == "engine") return Mover::copy_engine;
  fail_unknown(word);
}

}  // namespace

const std::vector<WhatIfWord>& what_if_words() {
  static const std::vector<WhatIfWord> words = {
      {"p2p=off", "GPUs without NVLink reach each other through the host's memory only"},
      {"p2p=on", "all GPUs of a box reach into each other's memory"},
      {"acs=on", "PCIe switches send what goes between their ports up to the root"},
      {"collapse=on", "posted writes of a switch's GPUs to several roots collapse"},
      {"copies=kernel|engine", "who moves plain copies"},
      {"slot:GPU=xN", "the GPU sits in a slot with N lanes"},
      {"pcie:GPU=genN", "the GPU's PCIe link runs at generation N"},
      {"pcie=genN", "all PCIe links run at generation N"},
      {"nvlink=genN", "all NVLinks are of generation N"},
      {"socket=off", "no link between processors"},
      {"link:A-B=off", "no link between the two"},
      {"remove:GPU", "the GPU is not there"},
  };
  return words;
}

MachineDescription with_what_if(MachineDescription machine, std::string_view text) {
  const Word word = parse(text);
  Topology& topology = machine.topology;
  const bool has_object = !word.object.empty();
  if (word.subject == "p2p" && !has_object) {
    machine.settings.peer_access = switched_on(word);
  } else if (word.subject == "acs" && !has_object) {
    machine.settings.acs_redirect = switched_on(word);
  } else if (word.subject == "collapse" && !has_object) {
    machine.settings.write_collapse = switched_on(word);
  } else if (word.subject == "copies" && !has_object) {
    machine.settings.mover = mover_named(word);
  } else if (word.subject == "slot" && has_object) {
    set_width(topology, slot_of(topology, word), width_after(word));
  } else if (word.subject == "pcie") {
    change_generation(topology, word);
  } else if (word.subject == "nvlink" && !has_object) {
    change_nvlink(machine, number_after(word, "gen", most_nvlink_generation));
  } else if (word.subject == "socket" && !has_object && word.value == "off") {
    topology = without_links(topology,
                             [&](LinkId id) { return topology.link(id).kind == LinkKind::socket; });
  } else if (word.subject == "link" && has_object) {
    topology = without_link(topology, word);
  } else if (word.subject == "remove" && has_object && word.value.empty()) {
    const NodeId gone = gpu_named(topology, word);
    topology = part_of(
        topology, [&](NodeId id) { return id != gone; }, [](LinkId) { return true; });
  } else {
    fail_unknown(word);
  }
  return machine;
}

void check_what_ifs(std::span<const std::string> texts) {
  std::map<std::pair<std::string_view, std::string_view>, Word> said;
  for (const auto& text : texts) {
    const Word word = parse(text);
    auto object = word.object;
    if (object.starts_with("GPU")) object.remove_prefix(std::string_view("GPU").size());
    const auto [known, is_new] = said.emplace(std::pair(word.subject, object), word);
    if (!is_new && known->second.value != word.value)
      throw Error(ErrorCode::bad_input, fmt::format("--what-if: {} and {} contradict each other",
                                                    quote(known->second.text), quote(word.text)));
  }
}

}  // namespace ringside
