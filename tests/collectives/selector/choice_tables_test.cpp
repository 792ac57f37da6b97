// SPDX-License-Identifier: MIT
/// All choices are those that were reviewed. Where they are not, the new table is written beside
/// where the test runs: look at what has changed and why, then take it over.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "choice_tables.hpp"
#include "preset_machines.hpp"
#include "ringside/base/file.hpp"

namespace ringside::tests {
namespace {

class ChoiceTables : public testing::TestWithParam<std::string> {};

TEST_P(ChoiceTables, AreAsReviewed) {
  const std::string& preset = GetParam();
  std::string table = table_heading(preset);
  for (const auto& line : table_lines(preset, table_sizes())) table += line + "\n";
  const std::filesystem::path path = table_path(preset);
  const std::string reviewed = std::filesystem::exists(path) ? read_file(path.string()) : "";
  if (table == reviewed) return;
  const std::string made = "choices-" + path.filename().string();
  write_file(made, table);
  ADD_FAILURE() << "the choices for " << preset << " differ from " << path << ": see "
                << std::filesystem::absolute(made) << "\n"
                << table;
}

INSTANTIATE_TEST_SUITE_P(Presets, ChoiceTables, testing::ValuesIn(preset_names()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace ringside::tests
