// SPDX-License-Identifier: MIT
/// JSON: typed reading names the place of every mistake, limits hold, writing reads back.
#include "ringside/base/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside {
namespace {

std::string parse_error(const std::string& text, const JsonLimits& limits = {}) {
  return tests::bad_input_of([&] { const JsonDocument document(text, "x.json", limits); });
}

TEST(Json, ReadsTypedValues) {
  const JsonDocument document(
      R"({"i": -3, "x": 2.5, "s": "text", "b": true, "n": null, "a": [1, 2]})", "x.json");
  const JsonValue root = document.root();
  EXPECT_EQ(root["i"].integer(), -3);
  EXPECT_EQ(root["i"].number(), -3.0);
  EXPECT_EQ(root["x"].number(), 2.5);
  EXPECT_EQ(root["s"].text(), "text");
  EXPECT_TRUE(root["b"].boolean());
  EXPECT_TRUE(root["n"].is_null());
  EXPECT_EQ(root["a"].size(), 2U);
  EXPECT_EQ(root["a"].items()[1].integer(), 2);
  EXPECT_EQ(root.find("absent"), std::nullopt);
  EXPECT_EQ(root["s"].choice({"other", "text"}), 1U);
  EXPECT_EQ(root.fields().size(), 6U);
  EXPECT_EQ(root.fields().front().first, "a");
}

TEST(Json, ErrorsNameTheDocumentAndThePath) {
  const JsonDocument document(
      R"({"ops": [{"rank": 0}, {"rank": 9}, {"ranc": 1}, {"rank": "one", "odd key": [[], [true]]}]})",
      "plan.json");
  const auto ops = document.root()["ops"].items();
  EXPECT_EQ(tests::bad_input_of([&] { (void)ops[1]["rank"].integer(0, 7); }),
            "plan.json: $.ops[1].rank: expected an integer 0..7, got 9");
  EXPECT_EQ(tests::bad_input_of([&] { (void)ops[2]["rank"]; }),
            "plan.json: $.ops[2]: the field \"rank\" is missing");
  EXPECT_EQ(tests::bad_input_of([&] {
              ops[2].only({"rank", "lane"});
            }),
            "plan.json: $.ops[2]: unknown field \"ranc\" (did you mean \"rank\"?)");
  EXPECT_EQ(tests::bad_input_of([&] { (void)ops[3]["rank"].integer(); }),
            "plan.json: $.ops[3].rank: expected an integer, got \"one\"");
  EXPECT_EQ(tests::bad_input_of([&] { (void)ops[3]["odd key"].items()[1].items()[0].text(); }),
            "plan.json: $.ops[3][\"odd key\"][1][0]: expected a text, got true");
  EXPECT_EQ(tests::bad_input_of([&] { (void)document.root()["ops"].size(1, 2); }),
            "plan.json: $.ops: expected 1..2 elements, got 4");
  EXPECT_EQ(tests::bad_input_of([&] {
              (void)ops[3]["rank"].choice({"two", "three"});
            }),
            "plan.json: $.ops[3].rank: expected one of two, three, got \"one\"");
  EXPECT_EQ(tests::bad_input_of([&] { (void)document.root().items(); }),
            "plan.json: $: expected an array, got an object");
  EXPECT_EQ(tests::bad_input_of([&] { (void)ops[0]["rank"]["deeper"]; }),
            "plan.json: $.ops[0].rank: expected an object, got 0");
}

TEST(Json, IntegersAreWrittenAsIntegersAndFitInt64) {
  const JsonDocument document("[1.0, 1e3, 9223372036854775807, 9223372036854775808, -1]", "x.json");
  const auto items = document.root().items();
  EXPECT_NE(tests::bad_input_of([&] { (void)items[0].integer(); }), "");
  EXPECT_NE(tests::bad_input_of([&] { (void)items[1].integer(); }), "");
  EXPECT_EQ(items[2].integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_NE(tests::bad_input_of([&] { (void)items[3].integer(); }), "");
  EXPECT_EQ(tests::bad_input_of([&] { (void)items[4].integer(0); }),
            "x.json: $[4]: expected an integer of 0 or more, got -1");
}

TEST(Json, SyntaxErrorsSayWhereOnOneLine) {
  EXPECT_EQ(parse_error("{\n\"a\": ]").rfind("x.json: parse error at line 2, column 6:", 0), 0U)
      << parse_error("{\n\"a\": ]");
  for (const auto* bad : {"", "{", "[1,]", "{} {}", "nul", "'a'", "[1] // comment", "\"\xff\"",
                          "1e999", "[NaN]", "{\"a\" 1}"})
    EXPECT_NE(parse_error(bad), "") << bad;
  EXPECT_LT(parse_error("[" + std::string(100'000, 'x')).size(), 400U);
  EXPECT_LT(parse_error("[\"" + std::string(100'000, 'x')).size(), 400U);
}

TEST(Json, TheSameKeyTwiceIsRefusedButNotInDifferentObjects) {
  EXPECT_EQ(parse_error(R"({"a": 1, "b": 2, "a": 3})"),
            "x.json: the field \"a\" appears twice in one object");
  EXPECT_EQ(parse_error(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})"), "");
  EXPECT_NE(parse_error(R"({"b": {"c": 1}, "a": 1, "a": 3})"), "");
}

TEST(Json, LimitsHoldAtTheirBoundary) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_EQ(parse_error(nested(64)), "");
  EXPECT_EQ(parse_error(nested(65)), "x.json: more than 64 nested arrays and objects");
  EXPECT_EQ(parse_error(nested(1'000'000)), "x.json: more than 64 nested arrays and objects");
  EXPECT_EQ(parse_error("[1,2,3]", {.values = 4}), "");
  EXPECT_EQ(parse_error("[1,2,3]", {.values = 3}), "x.json: more than 3 values");
  EXPECT_EQ(parse_error("[1,2,3]", {.bytes = 7}), "");
  EXPECT_EQ(parse_error("[1,2,3]", {.bytes = 6}), "x.json: larger than the limit of 6 B");
}

TEST(Json, WritingKeepsTheOrderAndReadsBackExactly) {
  Json value;
  value["z"] = 0.1;
  value["a"] = {1, 2};
  value["nan"] = std::nan("");
  value["broken"] = "\xff";
  EXPECT_EQ(dump_json(value, -1),
            "{\"z\":0.1,\"a\":[1,2],\"nan\":null,\"broken\":\"\xef\xbf\xbd\"}\n");
  EXPECT_EQ(dump_json(Json{{"a", 1}}), "{\n  \"a\": 1\n}\n");
  for (const double number : {1.0 / 3, 1e-300, 5e-324, 123456789.123456789}) {
    const JsonDocument document(dump_json(Json(number)), "x.json");
    EXPECT_EQ(document.root().number(), number);
  }
}

}  // namespace
}  // namespace ringside
