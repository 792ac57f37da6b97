// SPDX-License-Identifier: MIT
/// Figures and relations: NCCL v2.30, src/graph/tuning.cc. Times there are in microseconds and
/// bandwidths in GB/s.
#include "ringside/collectives/selector/nccl_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside {
namespace {

using PerProtocol = std::array<double, 3>;      // LL, LL128, Simple
using PerBoxes = std::array<double, 3>;         // 1, 2, more boxes
using PerGeneration = std::array<PerBoxes, 4>;  // Volta and before, Ampere, Hopper, Blackwell

template <typename Enum>
constexpr std::size_t index_of(Enum value) {
  return static_cast<std::size_t>(value);
}

enum class Hardware { nvlink, pci, network };

PerProtocol base_latency(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return {6.8, 14.0, 8.4};
    case NcclAlgorithm::ring:
      return {6.6, 14.0, 8.4};
    case NcclAlgorithm::pat:
      return {8.0, 8.0, 8.0};
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      break;
  }
  return {0, 0, 0};
}

PerProtocol hop_latency(NcclAlgorithm algorithm, Hardware hardware) {
  static constexpr std::array<PerProtocol, 3> tree = {
      {{0.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14.0}}};
  static constexpr std::array<PerProtocol, 3> ring = {
      {{0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}}};
  static constexpr std::array<PerProtocol, 3> nvls = {{{0, 0, 25}, {0, 0, 0}, {0, 0, 18}}};
  static constexpr std::array<PerProtocol, 3> nvls_tree = {{{0, 0, 25}, {0, 0, 0}, {0, 0, 20.9}}};
  static constexpr std::array<PerProtocol, 3> pat = {{{0, 0, 4.0}, {0, 0, 4.0}, {0, 0, 14.0}}};
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return tree.at(index_of(hardware));
    case NcclAlgorithm::ring:
      return ring.at(index_of(hardware));
    case NcclAlgorithm::nvls:
      return nvls.at(index_of(hardware));
    case NcclAlgorithm::nvls_tree:
      return nvls_tree.at(index_of(hardware));
    case NcclAlgorithm::pat:
      return pat.at(index_of(hardware));
  }
  return {};
}

constexpr PerGeneration most_ll = {
    {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr PerGeneration most_ring_ll128 = {
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
constexpr PerGeneration most_tree_ll128 = {
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr PerGeneration most_tree = {
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr PerGeneration most_nvls_tree = {
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};
constexpr std::array nvls_efficiency = {0.0, 0.0, 0.85, 0.74};

/// What is left of a tree's bandwidth by size: powers of two from 64 bytes on.
constexpr std::array<std::array<double, 24>, 3> tree_correction = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
      .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

std::size_t generation(int compute_capability) {
  if (compute_capability >= 100) return 3;
  if (compute_capability >= 90) return 2;
  return compute_capability >= 80 ? 1 : 0;
}

/// Floor of the logarithm to base 2.
int log2_of(std::uint64_t value) { return static_cast<int>(std::bit_width(value)) - 1; }

/// One algorithm and protocol at one request.
struct Case {
  const NcclMachine& machine;
  Collective collective;
  NcclAlgorithm algorithm;
  NcclProtocol protocol;

  [[nodiscard]] bool all_reduce() const { return collective == Collective::all_reduce; }
  [[nodiscard]] std::size_t boxes() const {
    return machine.boxes <= 2 ? static_cast<std::size_t>(machine.boxes) - 1 : 2;
  }
  [[nodiscard]] int ranks_per_box() const { return machine.ranks / machine.boxes; }
  [[nodiscard]] double most(const PerGeneration& table) const {
    return table.at(generation(machine.compute_capability)).at(boxes());
  }
  [[nodiscard]] const NcclChannels& channels() const {
    switch (algorithm) {
      case NcclAlgorithm::ring:
      case NcclAlgorithm::pat:
        return machine.ring;
      case NcclAlgorithm::tree:
        return machine.tree;
      case NcclAlgorithm::nvls:
      case NcclAlgorithm::nvls_tree:
        break;
    }
    return machine.nvls;
  }
  /// Steps of a ring.
  [[nodiscard]] int steps() const {
    if (all_reduce()) return 2 * (machine.ranks - 1);
    return collective == Collective::reduce_scatter || collective == Collective::all_gather
               ? machine.ranks - 1
               : machine.ranks;
  }
};

bool considered(const Case& what) {
  const bool shards =
      what.collective == Collective::reduce_scatter || what.collective == Collective::all_gather;
  const bool simple = what.protocol == NcclProtocol::simple;
  const int boxes = what.machine.boxes;
  switch (what.algorithm) {
    case NcclAlgorithm::ring:
      break;
    case NcclAlgorithm::tree:
      if (!what.all_reduce()) return false;
      break;
    case NcclAlgorithm::nvls:
      if (!simple || boxes > 1 || !(what.all_reduce() || shards)) return false;
      break;
    case NcclAlgorithm::nvls_tree:
      if (!simple || boxes == 1 || !what.all_reduce()) return false;
      break;
    case NcclAlgorithm::pat:
      if (!simple || !shards || boxes != what.machine.ranks) return false;
      break;
  }
  constexpr int least_for_ll128 = 70;
  if (what.protocol == NcclProtocol::ll128 &&
      !((what.machine.nvlink || what.ranks_per_box() == 1) && what.machine.same_capability &&
        what.machine.compute_capability >= least_for_ll128))
    return false;
  const bool nvls =
      what.algorithm == NcclAlgorithm::nvls || what.algorithm == NcclAlgorithm::nvls_tree;
  return what.channels().count >= (nvls ? 2 : 1);
}

/// GB/s of the bus of an NVLS channel.
double nvls_channel(const Case& what) {
  const auto& channels = what.channels();
  const double per_box = what.ranks_per_box();
  double inside = channels.intra * nvls_efficiency.at(generation(what.machine.compute_capability)) *
                  (channels.count - 1) / channels.count;
  inside *= what.all_reduce() ? 2 : (per_box - 1) / per_box;
  if (what.machine.boxes == 1) return inside;
  const double outside = channels.inter * (what.machine.boxes <= 2 ? 2 : 1);
  return std::min({inside, outside, what.most(most_nvls_tree)});
}

/// On several boxes it is the processor that counts, not the GPU.
double most_of_ll(const Case& what) {
  if (what.machine.boxes == 1) return what.most(most_ll);
  return most_ll.at(what.machine.processor == NcclProcessor::amd ? 1 : 0).at(what.boxes());
}

double ring_bus(const Case& what, double bus) {
  switch (what.protocol) {
    case NcclProtocol::ll: {
      // On several boxes it is the processor that counts.
      const std::size_t row = what.machine.boxes == 1 ? generation(what.machine.compute_capability)
                              : what.machine.processor == NcclProcessor::amd ? 1
                                                                             : 0;
      return std::min(most_ll.at(row).at(what.boxes()), bus / 2);
    }
    case NcclProtocol::ll128:
      return std::min(bus * 0.92, what.channels().count * what.most(most_ring_ll128));
    case NcclProtocol::simple:
      break;
  }
  return bus;
}

double tree_bus(const Case& what, double bus) {
  bus = std::min(bus * 0.92, what.channels().count * what.most(most_tree));
  switch (what.protocol) {
    case NcclProtocol::ll:
      return std::min(most_of_ll(what), bus / 3.8);
    case NcclProtocol::ll128:
      return std::min(bus * (what.machine.boxes == 1 ? 7.0 / 9 : 120.0 / 128),
                      what.channels().count * what.most(most_tree_ll128));
    case NcclProtocol::simple:
      break;
  }
  return bus;
}

/// GB/s of the message.
double bandwidth(const Case& what) {
  const auto& channels = what.channels();
  const double channel = what.machine.boxes <= 2 ? channels.intra : channels.inter;
  const double bus = channels.count * channel;
  const double per_step = static_cast<double>(what.machine.ranks) / what.steps();
  switch (what.algorithm) {
    case NcclAlgorithm::ring:
      return ring_bus(what, bus) * per_step;
    case NcclAlgorithm::tree:
      return tree_bus(what, bus) / 2;
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return channels.count * nvls_channel(what) * (what.all_reduce() ? per_step : 1);
    case NcclAlgorithm::pat:
      break;
  }
  return bus * 0.75;
}

double ring_latency(const Case& what, double inside, double outside) {
  const auto& machine = what.machine;
  if (what.collective == Collective::broadcast || what.collective == Collective::reduce) {
    const Hardware hardware = machine.boxes > 1 ? Hardware::network
                              : machine.nvlink  ? Hardware::nvlink
                                                : Hardware::pci;
    return hop_latency(what.algorithm, hardware).at(index_of(what.protocol));
  }
  int between_boxes = 0;
  if (machine.boxes > 1) {
    double posting = machine.processor == NcclProcessor::amd ? 2 : 1;
    if (what.protocol == NcclProtocol::simple) posting *= 3;
    inside = std::max(inside, posting);
    between_boxes = (what.all_reduce() ? 2 : 1) * (machine.boxes - 1);
  }
  return (what.steps() - between_boxes) * inside + between_boxes * outside;
}

/// Microseconds.
double latency(const Case& what) {
  const auto& machine = what.machine;
  const std::size_t protocol = index_of(what.protocol);
  const double base = base_latency(what.algorithm).at(protocol);
  const double inside =
      hop_latency(what.algorithm, machine.nvlink ? Hardware::nvlink : Hardware::pci).at(protocol);
  // With a rank a box nothing hides the network: it counts as for trees.
  const double outside =
      hop_latency(what.ranks_per_box() == 1 ? NcclAlgorithm::tree : what.algorithm,
                  Hardware::network)
          .at(protocol);
  const int levels = log2_of(static_cast<std::uint64_t>(machine.boxes));
  switch (what.algorithm) {
    case NcclAlgorithm::ring:
      return base + ring_latency(what, inside, outside);
    case NcclAlgorithm::tree:
      return base + 2 * ((what.ranks_per_box() - 1) * inside + levels * outside);
    case NcclAlgorithm::nvls:
      return inside;
    case NcclAlgorithm::nvls_tree:
      return inside + 2 * levels * outside;
    case NcclAlgorithm::pat:
      break;
  }
  return base + levels * outside / 3.5 + machine.ranks * 2.8;
}

NcclPrediction predict(const Case& what, double bytes) {
  constexpr double microsecond = 1e-6;
  NcclPrediction result;
  result.algorithm = what.algorithm;
  result.protocol = what.protocol;
  result.bandwidth = bandwidth(what);
  double waiting = latency(what);
  const auto size = static_cast<std::uint64_t>(bytes) >> 6;
  if (what.algorithm == NcclAlgorithm::tree && size > 0) {
    const auto& correction = tree_correction.at(index_of(what.protocol));
    const auto power = static_cast<std::size_t>(log2_of(size));
    if (power < correction.size()) result.bandwidth *= correction.at(power);
  }
  const double per_channel_and_rank = bytes / (what.channels().count * what.machine.ranks);
  if (what.algorithm == NcclAlgorithm::ring && what.protocol == NcclProtocol::simple &&
      what.machine.boxes > 1 && what.all_reduce() && per_channel_and_rank >= 64)
    waiting *= what.machine.compute_capability < 80 ? 1.9 : 1.4;
  result.latency = waiting * microsecond;
  result.seconds = result.latency + bytes / (result.bandwidth * 1e9);
  return result;
}

}  // namespace

std::string_view to_string(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, 5> names = {"Tree", "Ring", "NVLS", "NVLSTree", "PAT"};
  return names.at(index_of(algorithm));
}

std::string_view to_string(NcclProtocol protocol) {
  constexpr std::array<std::string_view, 3> names = {"LL", "LL128", "Simple"};
  return names.at(index_of(protocol));
}

bool nccl_chooses(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::broadcast:
    case Collective::reduce:
      return true;
    case Collective::gather:
    case Collective::scatter:
    case Collective::all_to_all:
    case Collective::barrier:
      break;
  }
  return false;
}

std::vector<NcclPrediction> nccl_predictions(const NcclMachine& machine, Collective collective,
                                             double bytes) {
  if (!nccl_chooses(collective))
    throw Error(ErrorCode::unsupported,
                fmt::format("NCCL has no algorithms to choose from for {}", to_string(collective)));
  std::vector<NcclPrediction> predictions;
  for (const auto algorithm : {NcclAlgorithm::tree, NcclAlgorithm::ring, NcclAlgorithm::nvls,
                               NcclAlgorithm::nvls_tree, NcclAlgorithm::pat})
    for (const auto protocol : {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple}) {
      const Case what{machine, collective, algorithm, protocol};
      if (considered(what)) predictions.push_back(predict(what, bytes));
    }
  std::stable_sort(
      predictions.begin(), predictions.end(),
      [](const NcclPrediction& a, const NcclPrediction& b) { return a.seconds < b.seconds; });
  return predictions;
}

std::string describe(const NcclPrediction& prediction) {
  return fmt::format("{}/{}: {} by NCCL's own model", to_string(prediction.algorithm),
                     to_string(prediction.protocol), format_duration(Seconds(prediction.seconds)));
}

}  // namespace ringside
