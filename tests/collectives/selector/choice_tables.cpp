// SPDX-License-Identifier: MIT
#include "choice_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "preset_machines.hpp"
#include "ringside/base/text.hpp"

namespace ringside::tests {
namespace {

constexpr std::uint64_t first_size = 1024, last_size = std::uint64_t{1} << 30;
constexpr std::size_t longest_spec = 100;

/// Groups of clusters fill lines; the first tell enough.
std::string shortened(const std::string& spec) {
  if (spec.size() <= longest_spec) return spec;
  const auto groups_end = spec.find(",inner=");
  const std::size_t head = 40;
  return groups_end == std::string::npos ? spec.substr(0, head) + "..."
                                         : spec.substr(0, head) + "..." + spec.substr(groups_end);
}

std::string line_of(std::uint64_t bytes, const PredictedChoice& choice) {
  return fmt::format("{:>8}  {:>8}  {:>5.3g}  {:74}  {} {:.0f} %", format_bytes(bytes),
                     format_duration(Seconds(choice.seconds)),
                     choice.seconds / choice.bound_seconds, shortened(choice.spec), choice.limit,
                     100 * choice.limit_share);
}

}  // namespace

std::vector<std::uint64_t> table_sizes(std::uint64_t factor) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = first_size; bytes <= last_size; bytes *= factor)
    sizes.push_back(bytes);
  return sizes;
}

std::string table_heading(std::string_view preset) {
  return fmt::format(
      "all_reduce on {}, float32, out of place: predicted choices\n"
      "{:>8}  {:>8}  {:>5}  {:74}  {}\n",
      preset, "size", "time", "bound", "plan", "limit");
}

std::vector<std::string> table_lines(std::string_view preset,
                                     const std::vector<std::uint64_t>& sizes) {
  const Machine machine = machine_of(preset);
  Predictor::Settings settings;
  settings.others = false;
  Predictor predictor(machine, {}, settings);
  std::vector<std::string> lines;
  for (const std::uint64_t bytes : sizes)
    lines.push_back(line_of(bytes, predictor.choose(all_reduce_of(machine, bytes))));
  return lines;
}

std::string table_path(std::string_view preset) {
  std::string name(preset);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '='; }, '-');
  return fmt::format("{}/choices/{}.txt", RINGSIDE_TEST_DATA, name);
}

}  // namespace ringside::tests
