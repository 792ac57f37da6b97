// SPDX-License-Identifier: MIT
/// Every real input of the corpus is read as its expectation says. Prints how many facts were
/// compared, and which readers took the files of each kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/build/build_topology.hpp"
#include "ringside/topology/readers/facts_json.hpp"
#include "ringside/topology/writers/matrix.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;

/// Remarks of whoever wrote the expectations; not facts of the text.
const std::set<std::string> remarks = {"notes", "reason", "if_recovered", "machine"};

/// Known to whoever wrote the expectation, but not from the text: all-gather and all-to-all print
/// alike, and two ranks of the first all-gather formula have equal rates.
const std::map<std::string, std::set<std::string>> not_in_the_text = {
    {"009", {"ranks", "collective"}},
    {"027", {"collective"}},
    {"029", {"collective"}},
    {"036", {"collective"}}};

struct Tally {
  int files = 0, facts = 0, mismatches = 0, refused = 0, not_in_the_text = 0;
  std::map<std::string, std::map<std::string, int>> readers_by_kind;
};

/// Compares what is expected with what was read, leaf by leaf: more may have been read.
void compare(const Json& expected, const Json& read, const std::string& path, Tally& tally) {
  if (expected.is_object() && read.is_object() && !expected.empty()) {
    for (const auto& [key, value] : expected.items()) {
      if (remarks.contains(key)) continue;
      compare(value, read.contains(key) ? read[key] : Json("(missing)"), path + "." + key, tally);
    }
    return;
  }
  if (expected.is_array() && read.is_array() && expected.size() == read.size() &&
      !expected.empty()) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      compare(expected[i], read[i], path + "[" + std::to_string(i) + "]", tally);
    return;
  }
  ++tally.facts;
  if (expected == read) return;
  ++tally.mismatches;
  ADD_FAILURE() << path << ": expected " << expected.dump() << ", read " << read.dump();
}

void check_file(const fs::path& file, Tally& tally) {
  SCOPED_TRACE(file.filename().string());
  const auto expected =
      Json::parse(read_file(fs::path(file).replace_extension(".expect.json").string()));
  const std::string kind = expected.value("kind", "");
  ++tally.files;
  if (expected.value("refuse", false)) {
    ++tally.refused;
    EXPECT_THROW((void)read_text(read_file(file.string()), file.filename().string()), Error);
    ++tally.readers_by_kind[kind]["(refused)"];
    return;
  }
  std::vector<Reading> readings;
  try {
    readings = read_text(read_file(file.string()), file.filename().string());
  } catch (const Error& error) {
    ++tally.mismatches;
    ADD_FAILURE() << error.what();
    return;
  }
  for (const auto& reading : readings) ++tally.readers_by_kind[kind][std::string(reading.reader)];
  auto comparable = expected;
  if (file.parent_path().filename() == "perf")
    if (const auto unknown = not_in_the_text.find(file.filename().string().substr(0, 3));
        unknown != not_in_the_text.end())
      for (const auto& key : unknown->second) comparable.erase(key), ++tally.not_in_the_text;
  compare(comparable, facts_json(readings), "$", tally);
  if (expected.value("truncated", false)) {
    EXPECT_TRUE(std::ranges::any_of(readings, [](const Reading& reading) {
      return !reading.findings.empty();
    })) << "a text that is cut is warned of";
  }
}

Tally check_folder(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(RINGSIDE_TEST_DATA) / folder))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::ranges::sort(files);
  Tally tally;
  for (const auto& file : files) check_file(file, tally);
  std::cout << folder << ": " << tally.files << " files (" << tally.refused << " to refuse), "
            << tally.facts << " facts compared, " << tally.mismatches << " mismatches, "
            << tally.not_in_the_text << " facts that the text does not hold\n";
  for (const auto& [kind, readers] : tally.readers_by_kind)
    for (const auto& [reader, count] : readers)
      std::cout << "  " << kind << ": " << count << " by " << reader << "\n";
  return tally;
}

TEST(Corpus, EveryTopologyFileIsReadAsDescribed) {
  const Tally tally = check_folder("corpus/topo");
  EXPECT_EQ(tally.files, 115);
  EXPECT_EQ(tally.mismatches, 0);
}

TEST(Corpus, EveryMeasuredMatrixIsReadAsDescribed) {
  const Tally tally = check_folder("corpus/pairs");
  EXPECT_EQ(tally.files, 19);
  EXPECT_EQ(tally.mismatches, 0);
}

TEST(Corpus, EveryCollectiveTableIsReadAsDescribed) {
  const Tally tally = check_folder("corpus/perf");
  EXPECT_EQ(tally.files, 36);
  EXPECT_EQ(tally.mismatches, 0);
}

/// The lines of a machine's matrix, with single blanks between the cells.
std::vector<std::string> matrix_lines(const Topology& topology) {
  std::vector<std::string> lines;
  const auto text = matrix_text(topology, {.legend = false});
  for (const auto line : split(text, '\n'))
    if (!trim(line).empty()) lines.push_back(join(split_blanks(line), " "));
  return lines;
}

TEST(Posted, EveryInputIsReadAsDescribed) {
  const Tally tally = check_folder("posted");
  EXPECT_EQ(tally.files, 24);
  EXPECT_EQ(tally.mismatches, 0);
}

TEST(Posted, EveryMachineHasTheLinksDescribed) {
  int machines = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(RINGSIDE_TEST_DATA) / "posted")) {
    if (entry.path().extension() != ".txt") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto expected =
        Json::parse(read_file(fs::path(entry.path()).replace_extension(".expect.json").string()));
    if (!expected.contains("machine")) continue;
    const auto readings = read_text(read_file(entry.path().string()), "text");
    EXPECT_EQ(matrix_lines(build_topology(readings).topology),
              expected["machine"].get<std::vector<std::string>>());
    ++machines;
  }
  EXPECT_GE(machines, 16);
}

}  // namespace
}  // namespace ringside::tests
