// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/one_machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside {
namespace {

using Models = std::set<std::string>;

/// "NVIDIA A40" and "A40" are the same.
std::string short_model(std::string_view model) {
  std::string small = to_lower(trim(model));
  for (const std::string_view maker : {"nvidia ", "amd "})
    if (small.starts_with(maker)) small = small.substr(maker.size());
  return small;
}

/// The models that a reading lists, in small letters.
class ModelsOf {
 public:
  explicit ModelsOf(const Reading& reading) { std::visit(*this, reading.facts); }
  Models models;

  void operator()(const SmiQuery& query) { add_all(query.gpus, &PcieStatus::model); }
  void operator()(const SmiCsv& csv) { add_all(csv.gpus, &PcieStatus::model); }
  void operator()(const NvlinkStatus& status) { add_all(status.gpus, &NvlinkStatus::Gpu::model); }
  void operator()(const PeerBandwidthTest& test) { add_all(test.devices, &MeasuredDevice::model); }
  void operator()(const NvBandwidth& test) { add_all(test.devices, &MeasuredDevice::model); }
  void operator()(const CollectiveRows& table) { add_all(table.listed, &ListedRank::model); }
  void operator()(const PreflightReport& report) {
    for (const auto& each : report.devices) add(each.device.model);
  }
  template <class Other>
  void operator()(const Other&) {}

 private:
  template <class Item>
  void add_all(const std::vector<Item>& items, std::string Item::*model) {
    for (const auto& item : items) add(item.*model);
  }
  void add(const std::string& model) {
    if (auto name = short_model(model); !name.empty()) models.insert(std::move(name));
  }
};

/// A part of a name will do: inputs cut models short.
bool share_a_model(const Models& first, const Models& second) {
  return std::ranges::any_of(first, [&](const std::string& one) {
    return std::ranges::any_of(second, [&](const std::string& other) {
      return one.find(other) != std::string::npos || other.find(one) != std::string::npos;
    });
  });
}

void check_models(std::span<const Reading> readings) {
  std::vector<std::pair<const Reading*, Models>> known;
  for (const auto& reading : readings)
    if (auto models = ModelsOf(reading).models; !models.empty())
      known.emplace_back(&reading, std::move(models));
  for (std::size_t i = 1; i < known.size(); ++i) {
    const auto& [first, here] = known.front();
    const auto& [other, there] = known[i];
    if (share_a_model(here, there)) continue;
    throw Error(
        ErrorCode::bad_input,
        fmt::format("the inputs are of different machines: {} lists {}, {} lists {}", first->source,
                    fmt::join(here, ", "), other->source, fmt::join(there, ", ")));
  }
}

void check_peer_access(std::span<const Reading> readings) {
  std::map<std::tuple<std::string, std::string, std::string>, std::string> known;
  for (const auto& reading : readings) {
    const auto* matrix = std::get_if<PeerMatrix>(&reading.facts);
    if (matrix == nullptr) continue;
    for (std::size_t i = 0; i < matrix->names.size(); ++i)
      for (std::size_t j = 0; j < matrix->names.size(); ++j) {
        const auto& status = matrix->cell(i, j);
        if (i == j || status.empty()) continue;
        const auto [before, added] =
            known.try_emplace({matrix->capability, matrix->names[i], matrix->names[j]}, status);
        if (added || before->second == status) continue;
        throw Error(ErrorCode::bad_input,
                    fmt::format("two matrices of peer access contradict each other: {} to {} is {} "
                                "in one and {} in another",
                                matrix->names[i], matrix->names[j], before->second, status));
      }
  }
}

/// GPUs that matrices list, and which input does; 0 where none does.
struct Listed {
  std::size_t gpus = 0;
  std::string source;
};

Listed most_listed(std::span<const Reading> readings) {
  Listed most;
  const auto take = [&](std::size_t gpus, const Reading& reading) {
    if (gpus > most.gpus) most = {gpus, reading.source};
  };
  for (const auto& reading : readings) {
    if (const auto* links = std::get_if<LinkMatrix>(&reading.facts)) take(links->gpus, reading);
    if (const auto* peers = std::get_if<PeerMatrix>(&reading.facts))
      take(peers->names.size(), reading);
  }
  return most;
}

/// GPUs that one host must have for this table or log; 0 where it does not tell. Ranks may share
/// one, so their indices on the host count.
std::size_t gpus_needed(const Reading& reading) {
  int highest = -1;
  if (const auto* table = std::get_if<CollectiveRows>(&reading.facts))
    for (const auto& rank : table->listed) highest = std::max(highest, rank.device.value_or(-1));
  if (const auto* log = std::get_if<NcclLog>(&reading.facts))
    highest = log->highest_device.value_or(-1);
  return static_cast<std::size_t>(highest + 1);
}

/// A job may use fewer GPUs than there are, never more.
void check_numbers(std::span<const Reading> readings) {
  const auto listed = most_listed(readings);
  for (const auto& reading : readings) {
    const auto needed = gpus_needed(reading);
    if (listed.gpus == 0 || needed <= listed.gpus) continue;
    throw Error(ErrorCode::bad_input,
                fmt::format("the inputs are of different machines: {} lists {} GPUs, {} has ranks "
                            "on {} of one host",
                            listed.source, listed.gpus, reading.source, needed));
  }
}

/// What lscpu says of the machine as a whole is the same each time.
void check_processors(std::span<const Reading> readings) {
  constexpr std::array<std::string_view, 3> fixed = {"Socket(s)", "NUMA node(s)", "CPU(s)"};
  std::map<std::string, std::pair<std::string, std::string>> known;
  for (const auto& reading : readings) {
    const auto* host = std::get_if<HostFacts>(&reading.facts);
    if (host == nullptr) continue;
    for (const auto& fact : host->facts) {
      if (fact.kind != HostFactKind::processor || std::ranges::find(fixed, fact.key) == fixed.end())
        continue;
      const auto [before, added] =
          known.try_emplace(fact.key, std::pair(fact.value, reading.source));
      if (added || before->second.first == fact.value) continue;
      throw Error(
          ErrorCode::bad_input,
          fmt::format("the inputs are of different machines: {} is {} in {} and {} in {}", fact.key,
                      before->second.first, before->second.second, fact.value, reading.source));
    }
  }
}

}  // namespace

void check_one_machine(std::span<const Reading> readings) {
  check_models(readings);
  check_peer_access(readings);
  check_numbers(readings);
  check_processors(readings);
}

}  // namespace ringside
