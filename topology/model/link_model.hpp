// SPDX-License-Identifier: MIT
/// The figures of a class of machines: bandwidths, latencies, overheads, each with who says so and
/// how sure that is. One JSON file a class stands in topology/model/classes/; what all share
/// (generations of PCIe and NVLink, memories, overheads) in base.json, which they refine:
///
///     {"ringside_link_model": 1, "name": "mine", "summary": "...", "refines": "pcie",
///      "figures": {"pcie4.x16.bandwidth": {"value": 22, "unit": "GB/s",
///                                          "confidence": "measured", "source": "nccl-tests"}}}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/graph.hpp"

namespace ringside {

enum class Confidence {
  measured,  ///< on a machine of this class, by the source
  stated,    ///< by a vendor or a library as its own assumption
  fitted,    ///< to measured points
  assumed,   ///< by analogy
};

/// A parameter with its provenance.
struct Figure {
  std::string name;  ///< "pcie4.x16.bandwidth", "overhead.op"
  double value = 0;
  std::string unit;  ///< "GB/s", "us", "1" (a ratio)
  Confidence confidence = Confidence::assumed;
  std::string source;

  bool operator==(const Figure&) const = default;
};

struct LinkModel {
  std::string name;     ///< of the class
  std::string summary;  ///< one line
  std::vector<Figure> figures;

  [[nodiscard]] const Figure* find(std::string_view figure) const;
  /// Throws Error(unsupported) naming the class and the figure when there is none.
  [[nodiscard]] double value(std::string_view figure) const;
  /// Changes a figure or adds it.
  void set(Figure figure);

  bool operator==(const LinkModel&) const = default;
};

/// "measured", "stated", "fitted", "assumed".
[[nodiscard]] std::string_view to_string(Confidence confidence);

/// The classes that come with the library, with all their figures in the order of their names.
[[nodiscard]] const std::vector<LinkModel>& link_models();
/// One of them; throws Error(bad_input) that lists them.
[[nodiscard]] const LinkModel& link_model_named(std::string_view name);
/// The one that fits a machine best (its GPUs, links and processors), and by which signs.
struct ModelChoice {
  const LinkModel* model = nullptr;
  std::string why;
};
[[nodiscard]] ModelChoice link_model_for(const Topology& topology);

/// Reads and writes the file format; what is written refines nothing. `name`: of the text, for
/// messages. Throws Error(bad_input), one line that says where.
[[nodiscard]] LinkModel link_model_from_json(std::string_view text, const std::string& name);
[[nodiscard]] std::string link_model_to_json(const LinkModel& model);

}  // namespace ringside
