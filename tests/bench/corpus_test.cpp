// SPDX-License-Identifier: MIT
/// The reader that our rows are tested with also reads what people posted of nccl-tests and
/// rccl-tests since 2019, so "it reads ours" means something.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "ringside/base/file.hpp"
#include "ringside/base/json.hpp"
#include "ringside/tests/bench/nccl_rows.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;

void expect_fields(const JsonValue& expected, const std::optional<NcclFields>& fields) {
  ASSERT_TRUE(fields.has_value());
  EXPECT_DOUBLE_EQ(fields->time, expected["time_us"].number());
  EXPECT_DOUBLE_EQ(fields->algbw, expected["algbw"].number());
  EXPECT_DOUBLE_EQ(fields->busbw, expected["busbw"].number());
  if (const auto check = expected.find("check")) {
    EXPECT_EQ(fields->check, check->text());
  }
}

void expect_as_described(const NcclText& text, const JsonValue& expected) {
  ASSERT_EQ(static_cast<std::int64_t>(text.rows.size()), expected["complete_rows"].integer());
  ASSERT_FALSE(text.rows.empty());
  EXPECT_EQ(text.has_incomplete_rows, expected["has_incomplete_rows"].boolean());
  for (const auto& row : text.rows)
    EXPECT_EQ(static_cast<std::int64_t>(row.fields), expected["fields_per_row"].integer());
  EXPECT_EQ(static_cast<std::int64_t>(text.rows.front().size), expected["first_size"].integer());
  if (!expected["type"].is_null()) {
    EXPECT_EQ(text.rows.front().type, expected["type"].text());
  }

  const auto& last = text.rows.back();
  EXPECT_EQ(static_cast<std::int64_t>(last.size), expected["last"]["size"].integer());
  if (const auto count = expected["last"].find("count")) {
    EXPECT_EQ(static_cast<std::int64_t>(last.count.value()), count->integer());
  }
  expect_fields(expected["last"]["out_of_place"], last.out_of_place);
  if (const auto in_place = expected["last"].find("in_place"))
    expect_fields(*in_place, last.in_place);

  double most = 0;
  for (const auto& row : text.rows) most = std::max(most, row.out_of_place->busbw);
  EXPECT_DOUBLE_EQ(most, expected["max_busbw_out_of_place"].number());
  if (const auto average = expected.find("avg_busbw")) {
    EXPECT_DOUBLE_EQ(text.average_busbw.value(), average->number());
  }
  if (const auto bounds = expected.find("out_of_bounds")) {
    EXPECT_EQ(text.out_of_bounds.value(), bounds->text());
  }
}

TEST(NcclTestsCorpus, EveryFileIsReadAsDescribed) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(RINGSIDE_TEST_DATA) / "corpus/perf")) {
    if (entry.path().extension() != ".txt") continue;
    const fs::path& file = entry.path();
    const fs::path expectation = fs::path(file).replace_extension(".expect.json");
    SCOPED_TRACE(file.filename().string());
    const JsonDocument expected(read_file(expectation.string()), expectation.filename().string());
    expect_as_described(read_nccl_text(read_file(file.string())), expected.root());
    ++files;
  }
  EXPECT_EQ(files, 36);
}

}  // namespace
}  // namespace ringside::tests
