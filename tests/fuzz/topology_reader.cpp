// SPDX-License-Identifier: MIT
/// Any text to one reader of topology inputs, or to those of one program (reader_name.hpp): what it
/// reads can be printed, built and written, and what is written is read back as the same.
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/json_write.hpp"
#include "ringside/tests/fuzz/reader_name.hpp"
#include "ringside/tests/fuzz/require.hpp"
#include "ringside/topology/build/build_topology.hpp"
#include "ringside/topology/build/measured.hpp"
#include "ringside/topology/readers/facts_json.hpp"
#include "ringside/topology/readers/own_json.hpp"
#include "ringside/topology/writers/dot.hpp"
#include "ringside/topology/writers/json.hpp"
#include "ringside/topology/writers/matrix.hpp"
#include "ringside/topology/writers/measured.hpp"
#include "ringside/topology/writers/nccl_xml.hpp"
#include "ringside/topology/writers/tree.hpp"

namespace ringside::fuzz {
namespace {

/// Small inputs find more than large ones do.
constexpr TextLimits limits = {.bytes = 100'000, .line_bytes = 5'000};

std::vector<Reading> read(std::string_view input) {
  const auto text = clean_text(input, limits);
  std::vector<Reading> all;
  for (const auto& reader : readers()) {
    const std::string_view wanted = reader_name;
    if (!wanted.empty() && wanted.find(reader.name) == std::string_view::npos) continue;
    for (auto& reading : reader.read(text)) all.push_back(std::move(reading));
  }
  return all;
}

void write(const Topology& topology) {
  require(!tree_text(topology).empty() || topology.nodes().empty(), "every node is drawn");
  (void)shared_links_text(topology);
  (void)matrix_text(topology);
  (void)topology_dot(topology);
  try {
    (void)nccl_xml(topology);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::unsupported, error.what());
  }
  // Bytes that are no UTF-8 are replaced once, then the text is stable.
  const auto once = topology_json(topology);
  require(topology_json(parse_topology_json(once)) == once, "our JSON keeps everything");
}

}  // namespace

void run(std::string_view input) {
  const auto readings = read(input);
  for (const auto& reading : readings) {
    require(reading.first_line >= 1 && reading.last_line >= reading.first_line,
            "a reading has lines");
    (void)dump_json(facts_json(std::vector<Reading>{reading}));
  }
  if (!readings.empty()) (void)dump_json(facts_json(readings));
  std::vector<Finding> findings;
  (void)measured_text(measurements_of(readings, nullptr, findings));
  if (!tells_links(readings)) return;
  const auto built = build_topology(readings);
  write(built.topology);
  (void)measurements_of(readings, &built.topology, findings);
}

}  // namespace ringside::fuzz
