// SPDX-License-Identifier: MIT
/// Text: what the strict parsers accept and refuse, and that formatting reads back.
#include "ringside/base/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside {
namespace {

using Views = std::vector<std::string_view>;

TEST(Text, TrimRemovesBlanksAtBothEndsOnly) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(" \n "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, SplitKeepsEmptyFields) {
  EXPECT_EQ(split("a,,b,", ','), (Views{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (Views{""}));
  EXPECT_EQ(split("abc", ','), (Views{"abc"}));
}

TEST(Text, SplitBlanksSkipsRunsOfBlanks) {
  EXPECT_EQ(split_blanks("  a \t b\n"), (Views{"a", "b"}));
  EXPECT_EQ(split_blanks(" "), Views{});
  EXPECT_EQ(split_blanks(""), Views{});
}

TEST(Text, JoinPutsSeparatorsBetweenOnly) {
  EXPECT_EQ(join(std::array<std::string_view, 3>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join(std::array<std::string, 1>{"a"}, ", "), "a");
  EXPECT_EQ(join(std::span<const std::string>{}, ", "), "");
}

TEST(Text, QuoteMakesForeignTextOnePrintableLine) {
  EXPECT_EQ(quote("ring"), "\"ring\"");
  EXPECT_EQ(quote("a\nb\t\"\\\x01\xff"), "\"a\\nb\\t\\\"\\\\\\x01\\xff\"");
  EXPECT_EQ(quote("abcdef", 3), "\"abc\"...");
  EXPECT_EQ(quote("abc", 3), "\"abc\"");
}

TEST(Text, ParseIntTakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_int("0"), 0);
  EXPECT_EQ(parse_int("-12"), -12);
  EXPECT_EQ(parse_int("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const auto* bad :
       {"", " 1", "1 ", "+1", "1x", "0x10", "1.0", "-", "--1", "9223372036854775808"})
    EXPECT_EQ(parse_int(bad), std::nullopt) << bad;
}

TEST(Text, ParseIntChecksTheRangeInclusively) {
  EXPECT_EQ(parse_int("1", 1, 4), 1);
  EXPECT_EQ(parse_int("4", 1, 4), 4);
  EXPECT_EQ(parse_int("0", 1, 4), std::nullopt);
  EXPECT_EQ(parse_int("5", 1, 4), std::nullopt);
}

TEST(Text, ParseNumberRefusesWhatIsNotFinite) {
  EXPECT_EQ(parse_number("1.5"), 1.5);
  EXPECT_EQ(parse_number("-2e-3"), -2e-3);
  for (const auto* bad : {"", "inf", "nan", "-inf", "1e999", "0x1p3", "1.5 ", "1,5"})
    EXPECT_EQ(parse_number(bad), std::nullopt) << bad;
}

TEST(Text, ParseBoolKnowsTheUsualWordsInAnyCase) {
  for (const auto* yes : {"true", "Yes", "ON", "1"}) EXPECT_EQ(parse_bool(yes), true) << yes;
  for (const auto* no : {"false", "No", "OFF", "0"}) EXPECT_EQ(parse_bool(no), false) << no;
  for (const auto* bad : {"", "2", "y", " on"}) EXPECT_EQ(parse_bool(bad), std::nullopt) << bad;
}

TEST(Text, ParseSizeReadsBinarySuffixes) {
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("8"), 8U);
  EXPECT_EQ(parse_size("8B"), 8U);
  EXPECT_EQ(parse_size("64K"), 65536U);
  EXPECT_EQ(parse_size("64k"), 65536U);
  EXPECT_EQ(parse_size("64KiB"), 65536U);
  EXPECT_EQ(parse_size("1.5M"), 1572864U);
  EXPECT_EQ(parse_size("2g"), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_size("1T"), std::uint64_t{1} << 40);
  EXPECT_EQ(parse_size("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
}

TEST(Text, ParseSizeRefusesWhatItWouldHaveToGuess) {
  for (const auto* bad :
       {"", "K", "64KB", "64MB", "-1", "+1", "1 K", "64Kx", "64kib", "1.5", "0.3K", "1..5M", ".5M",
        "5.M", "1e3", "16777216T", "18446744073709551616", "64P", "8b"})
    EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
}

TEST(Text, ParseDurationReadsSecondsAndUnits) {
  EXPECT_EQ(parse_duration("300"), Seconds(300));
  EXPECT_EQ(parse_duration("1.5s"), Seconds(1.5));
  EXPECT_EQ(parse_duration("20ms"), Seconds(0.02));
  EXPECT_EQ(parse_duration("100us"), Seconds(1e-4));
  EXPECT_EQ(parse_duration("5ns"), Seconds(5e-9));
  EXPECT_EQ(parse_duration("5m"), Seconds(300));
  EXPECT_EQ(parse_duration("1h"), Seconds(3600));
  EXPECT_EQ(parse_duration("0"), Seconds(0));
  for (const auto* bad : {"", "s", "-1", "1 s", "1d", "1S", "inf", "1e3", "1.", ".5"})
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
}

TEST(Text, ParseRanksReadsListsAndRefusesHoles) {
  EXPECT_EQ(parse_ranks("0-1-3-2"), (std::vector{0, 1, 3, 2}));
  EXPECT_EQ(parse_ranks("2,4", ','), (std::vector{2, 4}));
  EXPECT_EQ(parse_ranks("7"), (std::vector{7}));
  for (const auto* bad : {"", "-", "0--1", "-1", "0-", "a-b", "0-2147483648"})
    EXPECT_EQ(parse_ranks(bad), std::nullopt) << bad;
}

TEST(Text, FormatBytesIsReadable) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(1536 << 10), "1.5 MiB");
  EXPECT_EQ(format_bytes((1 << 20) - 1), "1 MiB");
  EXPECT_EQ(format_bytes(std::uint64_t{5000} << 40), "5000 TiB");
  EXPECT_EQ(format_between(512 << 10, 1 << 20), "between 512 KiB and 1 MiB");
}

TEST(Text, FormatSizeReadsBackExactly) {
  EXPECT_EQ(format_size(64 << 20), "64M");
  EXPECT_EQ(format_size(1536), "1536");
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 10, std::uint64_t{3} << 40,
        std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()})
    EXPECT_EQ(parse_size(format_size(bytes)), bytes);
}

TEST(Text, FormatDurationPicksTheUnit) {
  EXPECT_EQ(format_duration(Seconds(0)), "0 s");
  EXPECT_EQ(format_duration(Seconds(300)), "300 s");
  EXPECT_EQ(format_duration(Seconds(12345)), "12300 s");
  EXPECT_EQ(format_duration(Seconds(1.5)), "1.5 s");
  EXPECT_EQ(format_duration(Seconds(0.0123)), "12.3 ms");
  EXPECT_EQ(format_duration(Seconds(1e-4)), "100 us");
  EXPECT_EQ(format_duration(Seconds(41e-9)), "41 ns");
  EXPECT_EQ(format_duration(Seconds(0.9999)), "1 s");
}

TEST(Text, EditDistanceCountsSingleEdits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("sitting", "kitten"), 3U);
  EXPECT_EQ(edit_distance("ring", "ring"), 0U);
}

TEST(Text, ClosestFindsTypingErrorsAndNothingElse) {
  constexpr std::array<std::string_view, 4> names{"ring", "two_shot", "one_shot", "hierarchical"};
  EXPECT_EQ(closest("rng", names), "ring");
  EXPECT_EQ(closest("RING", names), "ring");
  EXPECT_EQ(closest("two-shot", names), "two_shot");
  EXPECT_EQ(closest("heirarchical", names), "hierarchical");
  EXPECT_EQ(closest("tree", names), std::nullopt);
  EXPECT_EQ(closest("", names), std::nullopt);
  EXPECT_EQ(closest(std::string(10'000, 'r'), names), std::nullopt);
  EXPECT_EQ(did_you_mean("rng", names), " (did you mean \"ring\"?)");
  EXPECT_EQ(did_you_mean("tree", names), "");
}

}  // namespace
}  // namespace ringside
