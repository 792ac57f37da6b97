// SPDX-License-Identifier: MIT
/// The text of nccl-tests, byte for byte.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/bench/nccl_tests_text.hpp"
#include "ringside/collectives/executors/host/small_message.hpp"
#include "ringside/tests/bench/nccl_rows.hpp"

namespace ringside::bench {
namespace {

Timing timing(double time, std::optional<std::uint64_t> wrong) {
  Timing result;
  result.time = time;
  if (wrong) result.check = CheckOutcome{.wrong = *wrong, .failed_ranks = *wrong > 0 ? 2 : 0};
  return result;
}

Series four_ranks() {
  Series series;
  series.label = "ring";
  series.ranks = 4;
  return series;
}

Row row(std::uint64_t bytes, std::optional<Timing> out, std::optional<Timing> in) {
  return {.type = ElementType::float32,
          .op = ReduceOp::sum,
          .bytes = bytes,
          .count = bytes / 4,
          .timings = {std::move(out), std::move(in)}};
}

Report report() {
  Report result;
  result.machine.host_name = "box";
  result.machine.processor = "A processor";
  result.machine.version = "1.2.3";
  result.machine.source_commit = "abc";
  result.request.ranks = {4};
  return result;
}

TEST(NumberIn, DropsDecimalsUntilTheNumberFits) {
  EXPECT_EQ(number_in(18.31, 7), "18.31");
  EXPECT_EQ(number_in(9999.99, 7), "9999.99");
  EXPECT_EQ(number_in(18233.1, 7), "18233.1");
  EXPECT_EQ(number_in(118190, 7), "118190");
  EXPECT_EQ(number_in(9999999, 7), "9999999");
  EXPECT_EQ(number_in(123456789, 7), "1.2e+08");
  EXPECT_EQ(number_in(0, 6), "0.00");
  EXPECT_EQ(number_in(999.99, 6), "999.99");
  EXPECT_EQ(number_in(1234.5, 6), "1234.5");
  EXPECT_EQ(number_in(12345678, 6), "1e+07");
}

TEST(NcclTestsText, RowsAreByteExact) {
  const Series series = four_ranks();
  EXPECT_EQ(text_row(series, row(8, timing(18.31, 0), timing(17.94, 0))),
            "           8             2     float     sum      -1    18.31    0.00    0.00       0 "
            "   17.94"
            "    0.00    0.00       0\n");
  EXPECT_EQ(text_row(series, row(134217728, timing(18233.1, 0), timing(118190, std::nullopt))),
            "   134217728      33554432     float     sum      -1  18233.1    7.36   11.04       0 "
            "  118190"
            "    1.14    1.70    N/A\n");
}

TEST(NcclTestsText, ColumnHeadsAreByteExact) {
  const std::string heads =
      "#                                                              out-of-place                 "
      "      in-place          \n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
      "time   algbw   busbw  #wrong \n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             "
      "(us)  (GB/s)  (GB/s)         \n";
  EXPECT_TRUE(text_header(report(), four_ranks()).ends_with("#\n" + std::string(heads)));
}

TEST(NcclTestsText, ParametersAndDevicesStandWhereReadersLook) {
  const auto header = text_header(report(), four_ranks());
  const auto lines = split(header, '\n');
  EXPECT_EQ(lines[0], "# algorithm: ring");
  EXPECT_NE(lines[1].find("measured"), std::string_view::npos);
  EXPECT_TRUE(lines[2].starts_with("# inputs of up to ")) << lines[2];
  EXPECT_EQ(lines[3], "# Collective test starting: all_reduce");
  EXPECT_EQ(
      lines[4],
      "# nThread 4 nGpus 1 minBytes 8 maxBytes 67108864 step: 8(factor) warmup iters: 1 iters: 0 "
      "agg iters: 1 validation: 1 graph: 0 unalign: 0");
  const auto devices = header.find("# Using devices\n#  Rank  0 Group  0 Pid ");
  ASSERT_NE(devices, std::string::npos);
  EXPECT_NE(header.find(" on        box device  0 [0000:00:00] A processor\n#  Rank  1 Group  0"),
            std::string::npos);
  for (const auto line : lines)
    if (!line.empty()) {
      EXPECT_EQ(line[0], '#') << line;
    }
}

TEST(NcclTestsText, RowsOfOtherCollectivesAreByteExact) {
  Series series = four_ranks();
  series.collective = Collective::all_gather;
  Row one = row(128, timing(0.5, 0), timing(0.4, 0));
  one.count = 8;
  EXPECT_EQ(text_row(series, one),
            "         128             8     float    none      -1     0.50    0.26    0.19       0 "
            "    0.40    0.32    0.24       0\n");
  series.collective = Collective::reduce;
  series.root = 2;
  EXPECT_EQ(text_row(series, one),
            "         128             8     float     sum       2     0.50    0.26    0.26       0 "
            "    0.40    0.32    0.32       0\n");
  series.collective = Collective::all_to_all;
  one.timings[1].reset();
  EXPECT_EQ(text_row(series, one),
            "         128             8     float    none      -1     0.50    0.26    0.19       0 "
            "     N/A     N/A     N/A    N/A\n");
  EXPECT_NE(text_header(report(), series).find("# Collective test starting: alltoall\n"),
            std::string::npos);
}

TEST(NcclTestsText, WhatAutoRanStandsInACommentBehindTheRow) {
  Series series = four_ranks();
  series.label = "auto";
  Row one = row(8, timing(1, 0), timing(1, 0));
  one.timings[0]->spec = one.timings[1]->spec = "one_shot";
  EXPECT_TRUE(text_row(series, one).ends_with("\n# auto ran one_shot\n"));
  one.timings[1]->spec = "two_shot";
  EXPECT_TRUE(
      text_row(series, one).ends_with("\n# auto ran one_shot out of place, two_shot in place\n"));
}

TEST(NcclTestsText, TheHeaderSaysWhereTheRanksRunAndWhatTheBuffersAre) {
  auto one = report();
  one.machine.allowed_cores = 2;
  one.request.buffers = Buffers::rewritten;
  const auto header = text_header(one, four_ranks());
  EXPECT_NE(header.find("pinned, rank r to core r mod 2; 4 ranks share 2 cores"), std::string::npos)
      << header;
  EXPECT_NE(header.find("# rewritten buffers:"), std::string::npos) << header;
  one.request.pin = false;
  one.machine.allowed_cores = 8;
  EXPECT_NE(text_header(one, four_ranks()).find("(not pinned)"), std::string::npos);
}

TEST(NcclTestsText, TheRemarkAboutSmallMessagesGoesByTheInput) {
  set_option("inline", "48");
  auto one = report();
  Series series = four_ranks();
  const auto remarked = [&](Collective collective, std::uint64_t smallest) {
    series.collective = collective;
    one.request.sizes.begin = smallest;
    return text_header(one, series).find("travel in the call") != std::string::npos;
  };
  const std::uint64_t most = host::longest_small_message(4, allowed_cpu_count());
  EXPECT_TRUE(remarked(Collective::all_reduce, most));
  EXPECT_FALSE(remarked(Collective::all_reduce, most + 4));
  EXPECT_TRUE(remarked(Collective::all_gather, 4 * most));  // an input is a block
  EXPECT_FALSE(remarked(Collective::all_gather, 4 * most + 64));
  EXPECT_FALSE(remarked(Collective::reduce_scatter, most + 64));
  EXPECT_FALSE(remarked(Collective::barrier, 0));
  set_option("inline", "0");
  EXPECT_FALSE(remarked(Collective::all_reduce, 0));
  reset_option("inline");
}

TEST(NcclTestsText, TheHeaderOfOursNamesTheOptionsSet) {
  auto one = report();
  EXPECT_EQ(text_header(one, four_ranks()).find("# options set"), std::string::npos);
  one.options = {{"checksum", "1"}, {"inline", "0"}};
  EXPECT_NE(text_header(one, four_ranks()).find("\n# options set: checksum=1 inline=0\n"),
            std::string::npos);
  auto peer = four_ranks();
  peer.peer = true;  // they change nothing there
  EXPECT_EQ(text_header(one, peer).find("# options set"), std::string::npos);
}

TEST(Remarks, SmallMessagesAreLimitedByTheNumberOfRanks) {
  set_option("inline", "48");
  BenchRequest request;
  request.sizes.begin = 0;
  const int cores = allowed_cpu_count();
  request.ranks = {cores + 1, cores};
  EXPECT_TRUE(inline_remark(request).starts_with(fmt::format(
      "# inputs of up to 48 B ({} ranks) or 192 B ({} ranks) a rank travel", cores, cores + 1)))
      << inline_remark(request);
  request.ranks = {cores + 1, cores + 2};
  EXPECT_TRUE(inline_remark(request).starts_with("# inputs of up to 192 B a rank travel"))
      << inline_remark(request);
  set_option("inline", "1K");  // 4 times that is more than a message holds
  EXPECT_TRUE(inline_remark(request).starts_with("# inputs of up to 4080 B a rank travel"))
      << inline_remark(request);
  set_option("inline", "48");
  request.ranks = {cores, cores + 1};
  request.sizes.begin = 64;  // too long for the first
  EXPECT_TRUE(inline_remark(request).starts_with(
      fmt::format("# inputs of up to 192 B ({} ranks) a rank travel", cores + 1)))
      << inline_remark(request);
  reset_option("inline");
}

TEST(NcclTestsText, TheFooterCountsChecksAndAveragesOverBothPlacements) {
  Series series = four_ranks();
  // 1 GB/s and 3 GB/s on the bus: 1.5 x algbw with 4 ranks.
  series.rows.push_back(row(3000, timing(4.5, 0), timing(1.5, 7)));
  const auto footer = text_footer(series);
  EXPECT_TRUE(
      footer.starts_with("# Out of bounds values : 2 FAILED\n# Avg bus bandwidth    : 2 \n#\n"))
      << footer;
  series.rows[0].timings[1] = timing(1.5, 0);
  EXPECT_TRUE(text_footer(series).starts_with("# Out of bounds values : 0 OK\n"));
}

TEST(NcclTestsText, AReaderThatSplitsOnBlanksFindsThirteenFieldsInEveryRow) {
  Series series = four_ranks();
  series.rows.push_back(row(8, timing(0.123, 0), timing(0.456, 0)));
  series.rows.push_back(row(64, timing(0.5, 1234567), std::nullopt));
  series.rows.push_back(row(std::uint64_t{1} << 40, std::nullopt, timing(1.5e9, 0)));
  series.rows.push_back(row(0, timing(0.1, std::nullopt), timing(0.1, std::nullopt)));
  const auto text = tests::read_nccl_text(text_block(report(), series));
  ASSERT_EQ(text.rows.size(), 4U);
  EXPECT_FALSE(text.has_incomplete_rows);
  for (const auto& one : text.rows) EXPECT_EQ(one.fields, 13U);
  EXPECT_EQ(text.rows[1].out_of_place->check, "1.23457e+06");
  EXPECT_FALSE(text.rows[1].in_place.has_value());
  EXPECT_FALSE(text.rows[2].out_of_place.has_value());
  EXPECT_EQ(text.rows[2].in_place->time, 1.5e9);
  EXPECT_EQ(text.rows[3].in_place->check, "N/A");
}

}  // namespace
}  // namespace ringside::bench
