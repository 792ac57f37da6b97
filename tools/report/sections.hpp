// SPDX-License-Identifier: MIT
/// The parts of a report's page. For source files only: this header needs nlohmann-json.
#pragma once

#include <string>
#include <vector>

#include "ringside/base/json_write.hpp"
#include "ringside/tools/report/runs.hpp"

namespace ringside::report {

struct Section {
  std::string id = {}, title = {}, html = {};
};

/// What the page's scripts draw from.
struct PageData {
  Json charts = Json::array();
  Json machines = Json::array();
};

/// Those that have something to show. Adds what they draw to `data`.
[[nodiscard]] std::vector<Section> sections_of(const Runs& runs, PageData& data);

}  // namespace ringside::report
