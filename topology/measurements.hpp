// SPDX-License-Identifier: MIT
/// What was measured between the GPUs of a machine, whichever program did it.
///
///     const auto loaded = load_topology(files);
///     loaded.measured.bandwidth({.from = 0, .to = 3, .peer_access = true});  // GB/s, or nothing
///
/// Every figure is one that an input states: nothing is averaged, derived or guessed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/graph.hpp"

namespace ringside {

/// The host's memory, in place of a GPU's number.
constexpr int host_memory = -1;

enum class MeasuredQuantity {
  bandwidth,  ///< GB/s (decimal)
  latency,    ///< microseconds
};

enum class MeasuredTraffic {
  one_way,    ///< nothing else moves
  both_ways,  ///< the sum of the two directions, which run at once
  opposed,    ///< this direction's share while the other runs as well
};

/// What moves the data.
enum class MeasuredMethod { unknown, copy_engine, kernel };

/// "bandwidth"; "one_way"; "copy_engine".
[[nodiscard]] std::string_view to_string(MeasuredQuantity quantity);
[[nodiscard]] std::string_view to_string(MeasuredTraffic traffic);
[[nodiscard]] std::string_view to_string(MeasuredMethod method);

struct PairMeasurement {
  int from = 0, to = 0;  ///< GPUs, or the host's memory; the same: within one GPU
  MeasuredQuantity quantity = MeasuredQuantity::bandwidth;
  MeasuredTraffic traffic = MeasuredTraffic::one_way;
  MeasuredMethod method = MeasuredMethod::unknown;
  std::optional<bool> peer_access;  ///< P2P; nothing with the host, or where it is not told
  double value = 0;
  std::string source;  ///< the program, or its heading of the figure

  bool operator==(const PairMeasurement&) const = default;
};

/// A path on which something went wrong: data that did not arrive, a hang.
struct PairFault {
  std::optional<int> from, to;  ///< nothing where no single path is to blame
  std::optional<bool> peer_access;
  std::string kind;  ///< as the input names it: "lost", "corrupt", "hang"
  std::string text;

  bool operator==(const PairFault&) const = default;
};

/// What is asked of a pair. Without `peer_access` any figure will do.
struct PairQuery {
  int from = 0, to = 0;
  MeasuredTraffic traffic = MeasuredTraffic::one_way;
  std::optional<bool> peer_access = std::nullopt;
};

/// Figures in the order of the inputs.
struct Measurements {
  std::vector<PairMeasurement> pairs;
  std::vector<PairFault> faults;

  [[nodiscard]] bool empty() const { return pairs.empty() && faults.empty(); }

  /// The first figure that fits, one of a copy engine before others; both_ways is the same for
  /// either order of the pair.
  [[nodiscard]] std::optional<double> bandwidth(const PairQuery& query) const;
  [[nodiscard]] std::optional<double> latency(const PairQuery& query) const;

  bool operator==(const Measurements&) const = default;
};

/// A GPU as a measuring program lists it.
struct MeasuredDevice {
  int number = 0;  ///< CUDA's, which need not be that of nvidia-smi
  std::string model;
  std::optional<PciAddress> address;

  bool operator==(const MeasuredDevice&) const = default;
};

}  // namespace ringside
