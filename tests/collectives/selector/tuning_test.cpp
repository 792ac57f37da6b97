// SPDX-License-Identifier: MIT
/// Tuning tables as files: what is written is read back, and whatever is wrong is refused with one
/// line that says where.
#include "ringside/collectives/selector/tuning.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/selector/choice.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

TuningTable small_table() {
  TuningTable table{.name = "t.json",
                    .origin = {"a machine", "2026-01-01", "abc", "two \"quoted\" words"},
                    .rows = {}};
  table.rows.push_back({.backend = "host",
                        .collective = Collective::all_reduce,
                        .ranks = 2,
                        .cores = 2,
                        .in_place = true,
                        .ranges = {{0, "one_shot"}, {4096, "ring:slices=4"}},
                        .measured = {{8, {{"one_shot", 0.25}, {"two_shot", 0.5}}},
                                     {1 << 20, {{"ring:slices=4", 33.5}}}}});
  table.rows.push_back({.backend = "host",
                        .collective = Collective::broadcast,
                        .ranks = 4,
                        .cores = 2,
                        .in_place = std::nullopt,
                        .ranges = {{0, "linear"}},
                        .measured = {}});
  return table;
}

std::string refusal_of(const std::string& text) {
  return bad_input_of([&] { return tuning_from_json(text, "t.json"); });
}

/// The text of `small_table` with one piece replaced.
std::string damaged(const std::string& piece, const std::string& by) {
  std::string text = tuning_to_json(small_table());
  const auto place = text.find(piece);
  EXPECT_NE(place, std::string::npos) << piece << " is not in\n" << text;
  return text.replace(place, piece.size(), by);
}

TEST(TuningFile, ReadsBackWhatWasWritten) {
  const TuningTable written = small_table();
  const TuningTable read = tuning_from_json(tuning_to_json(written), "t.json");
  EXPECT_EQ(read.origin, written.origin);
  EXPECT_EQ(read.rows, written.rows);
  EXPECT_EQ(tuning_to_json(read), tuning_to_json(written));
}

TEST(TuningFile, AnEmptyTableIsATable) {
  TuningTable table = small_table();
  table.rows.clear();
  EXPECT_TRUE(tuning_from_json(tuning_to_json(table), "t.json").rows.empty());
}

TEST(TuningFile, RefusesWhateverIsWrongAndSaysWhere) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {refusal_of("{}"), "this is no tuning table"},
      {refusal_of("[1]"), "this is no tuning table"},
      {refusal_of("{"), "t.json"},
      {refusal_of(""), "t.json"},
      {refusal_of(damaged("\"ringside_tuning\": 1", "\"ringside_tuning\": 2")),
       "$.ringside_tuning: version 2 is not known"},
      {refusal_of(damaged("\"rows\"", "\"rwos\"")), "rwos"},
      {refusal_of(damaged("\"date\"", "\"when\"")), "$.origin"},
      {refusal_of(damaged("\"all_reduce\"", "\"all_redcue\"")), "$.rows[0].collective"},
      {refusal_of(damaged("\"all_reduce\"", "\"barrier\"")), "moves data"},
      {refusal_of(damaged("\"ranks\":2", "\"ranks\":0")), "$.rows[0].ranks"},
      {refusal_of(damaged("\"ranks\":2", "\"ranks\":2.5")), "$.rows[0].ranks"},
      {refusal_of(damaged("\"cores\":2", "\"cores\":-1")), "$.rows[0].cores"},
      {refusal_of(damaged("\"in_place\"", "\"inside\"")), "$.rows[0].placement"},
      {refusal_of(damaged("\"ranks\":4", "\"ranks\":4,\"placement\":\"in_place\"")),
       "holds for both placements"},
      {refusal_of(damaged("\"from\":0", "\"from\":1")), "from 0 bytes on"},
      {refusal_of(damaged("\"from\":4096", "\"from\":0")), "ascending"},
      {refusal_of(damaged("\"from\":4096", "\"from\":-1")), "$.rows[0].choices[1].from"},
      {refusal_of(damaged("ring:slices=4", "ring:slices")), "$.rows[0].choices[1].spec"},
      {refusal_of(damaged("\"one_shot\"", "\"auto\"")), "expected an algorithm"},
      {refusal_of(damaged("\"bytes\":1048576", "\"bytes\":8")), "$.rows[0].measured[1].bytes"},
      {refusal_of(damaged("0.25", "0")), "above 0"},
      {refusal_of(damaged("[\"one_shot\",0.25]", "[\"one_shot\"]")), "us[0]"},
      {refusal_of(damaged("{\"from\":0,\"spec\":\"linear\"}", "")), "$.rows[1].choices"},
      {refusal_of(damaged("\"broadcast\",\"ranks\":4,\"cores\":2",
                          "\"all_reduce\",\"ranks\":2,\"cores\":2,\"placement\":\"in_place\"")),
       "$.rows[1]: an earlier row"},
  };
  for (const auto& [refused, expected] : table)
    EXPECT_NE(refused.find(expected), std::string::npos) << expected << " is not in: " << refused;
}

TEST(TuningFile, NamesTheRowOfAnAlgorithmThatNobodyKnows) {
  const TuningTable table = tuning_from_json(damaged("\"linear\"", "\"linaer\""), "t.json");
  try {
    check_algorithms(table);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find("t.json: broadcast, 4 ranks: "), std::string::npos)
        << error.what();
  }
  check_algorithms(small_table());
}

TEST(TuningFile, NamesTheRowOfASpecThatCannotServeIt) {
  for (const auto& [spec, expected] :
       {std::pair{"ring", "ring"}, std::pair{"linear:slices=0", "slices"},
        std::pair{"linear:nosuch=1", "nosuch"}}) {
    const TuningTable table =
        tuning_from_json(damaged("\"linear\"", "\"" + std::string(spec) + "\""), "t.json");
    try {
      check_algorithms(table);
      FAIL() << spec << " accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
      EXPECT_NE(std::string(error.what()).find("t.json: broadcast, 4 ranks: "), std::string::npos)
          << error.what();
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  }
}

TEST(TuningFile, TheDefaultTableIsSound) {
  const TuningTable& table = default_tuning();
  check_algorithms(table);
  EXPECT_EQ(tuning_from_json(tuning_to_json(table), "again").rows, table.rows);
}

TEST(TuningRow, ASizeFallsInTheLastRangeThatBeginsAtOrBelowIt) {
  const TuningRow row = small_table().rows[0];
  EXPECT_EQ(row.range_of(0), 0U);
  EXPECT_EQ(row.range_of(4095), 0U);
  EXPECT_EQ(row.range_of(4096), 1U);
  EXPECT_EQ(row.range_of(std::uint64_t{1} << 60), 1U);
}

}  // namespace
}  // namespace ringside::tests
