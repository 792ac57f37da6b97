// SPDX-License-Identifier: MIT
/// Reading the JSON of an earlier run.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/base/json.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/competitors.hpp"
#include "ringside/bench/request_json.hpp"
#include "ringside/bench/run_comparison.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside::bench {
namespace {

constexpr std::size_t most_rows = 1'000'000;
constexpr std::size_t most_rounds = 1'000'000;
constexpr JsonLimits limits = {.bytes = std::size_t{256} << 20, .depth = 12, .values = 20'000'000};

double positive(const JsonValue& value) {
  const double number = value.number();
  if (!(number > 0)) value.fail("expected a number above 0");
  return number;
}

/// Where every rank has a core, the median of a round's samples is the time of the calls that
/// nobody interrupted. Where ranks take turns on a core, some calls are fast because others were
/// slow, and only the mean says something.
std::vector<RunRound> read_rounds(const JsonValue& timing, bool a_core_each) {
  std::vector<RunRound> rounds;
  const JsonValue times = timing[a_core_each ? "round_medians_us" : "round_times_us"];
  (void)times.size(1, most_rounds);
  for (const auto& time : times.items()) rounds.push_back({.microseconds = positive(time)});
  if (const auto probes = timing.find("round_probes_ns")) {
    (void)probes->size(rounds.size(), rounds.size());
    const auto items = probes->items();
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      (void)items[i].size(2, 2);
      const auto pair = items[i].items();
      rounds[i].probe_before_ns = pair[0].number();
      rounds[i].probe_after_ns = pair[1].number();
    }
  }
  return rounds;
}

/// Whether a row is one of ours, or a baseline that ours are divided by: other libraries' are not
/// compared.
bool is_compared(const std::string& label) {
  const auto others = competitor_names();
  return label.starts_with(baseline_prefix) ||
         std::find(others.begin(), others.end(), label) == others.end();
}

void read_result(const JsonValue& result, const std::string& collective, MeasuredRun& run) {
  RunKey key;
  const auto own = result.find("collective");
  key.collective = own ? own->text() : collective;
  key.algorithm = result["algorithm"].text();
  if (!is_compared(key.algorithm)) return;
  key.ranks = static_cast<int>(result["ranks"].integer(1, max_ranks));
  key.type = result["type"].text();
  key.redop = result["redop"].text();
  key.root = static_cast<int>(result["root"].integer(-1, max_ranks));
  key.asked = static_cast<std::uint64_t>(result["asked_size"].integer(0));
  key.size = static_cast<std::uint64_t>(result["size"].integer(0));
  for (const auto placement : placements) {
    const JsonValue timing = result[placement == Placement::in_place ? "in_place" : "out_of_place"];
    if (timing.is_null()) continue;
    key.placement = placement;
    const JsonValue wrong = timing["nwrong"];
    run.rows.push_back({key, read_rounds(timing, key.ranks <= run.cores || !run.gpus.empty()),
                        wrong.is_null() ? 0 : static_cast<std::uint64_t>(wrong.integer(0))});
  }
}

std::string gpus_in_words(const JsonValue& gpus) {
  std::string words;
  (void)gpus["list"].size(1, max_ranks);
  for (const auto& gpu : gpus["list"].items()) words += gpu["name"].text() + ", ";
  return words +
         fmt::format("driver {}, runtime {}", gpus["driver"].text(), gpus["runtime"].text());
}

std::optional<std::map<std::string, std::string>> read_options(const JsonValue& root) {
  const auto config = root.find("config");
  if (!config || !config->is_object()) return std::nullopt;
  const auto list = config->find("options");
  if (!list) return std::nullopt;
  std::map<std::string, std::string> options;
  (void)list->size(0, 1000);
  for (const auto& item : list->items()) {
    (void)item.size(2, 2);
    const auto pair = item.items();
    options[pair[0].text()] = pair[1].text();
  }
  return options;
}

}  // namespace

MeasuredRun run_from_json(std::string_view text, const std::string& name) {
  const JsonDocument document(text, name, limits);
  const JsonValue root = document.root();
  if (!root.is_object() || !root.find("ringside_bench"))
    root.fail("this is no run of ringside bench: it has no field \"ringside_bench\"");
  if (root["ringside_bench"].integer() != 1)
    root["ringside_bench"].fail(fmt::format("version {} is not known: this program reads 1",
                                            root["ringside_bench"].integer()));
  const auto request = root.find("request");
  if (!request) root.fail("this run does not say what it measured: it is of an earlier version");
  if (const auto gpus = root.find("gpus"); gpus && (*gpus)["virtual"].boolean())
    root.fail("this run was on virtual devices, which measure nothing");
  MeasuredRun run;
  run.name = name;
  run.request = request_from_json(*request);
  if (!run.request.spread)
    root.fail(
        "the rounds of this run are not spread over its length, so noise cannot be told from a "
        "change: measure it with ringside bench --spread");
  run.processor = root["machine"]["processor"].text();
  run.commit = root["machine"]["source_commit"].text();
  run.date = root["start_time"].text();
  const JsonValue machine = root["machine"];
  run.version = machine["version"].text();
  run.compiler = machine["compiler"].text();
  run.kernels = machine["reduction_kernels"].text();
  run.cores = static_cast<int>(machine["allowed_cores"].integer(0, 1'000'000));
  if (const auto gpus = root.find("gpus")) run.gpus = gpus_in_words(*gpus);
  run.options = read_options(root);
  const auto all = root.find("collective");
  const std::string collective = all && all->is_string() ? all->text() : "";
  (void)root["results"].size(0, most_rows);
  for (const auto& result : root["results"].items()) read_result(result, collective, run);
  std::set<RunKey> keys;
  for (const auto& row : run.rows)
    if (!keys.insert(row.key).second)
      root["results"].fail(
          fmt::format("{} at {} B is there twice", quote(row.key.algorithm), row.key.asked));
  return run;
}

}  // namespace ringside::bench
