// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/one_machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

}  // namespace

void check_one_machine(std::span<const Reading> readings) {
  check_models(readings);
  check_peer_access(readings);
}

}  // namespace ringside
