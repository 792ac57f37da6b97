// SPDX-License-Identifier: MIT
/// Inputs made to hurt: noise, bombs, endless nesting. Refused, and soon.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/topology/readers/own_json.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside::tests {
namespace {

/// The message of the refusal. Generous in time: the machine may be shared, the program sanitized.
std::string refusal_of(const std::string& text) {
  const auto start = std::chrono::steady_clock::now();
  std::string message = "(read)";
  try {
    (void)read_text(text, "text");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    message = error.what();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 100);
  return message;
}

std::string repeated(const std::string& piece, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += piece;
  return text;
}

constexpr std::size_t ten_megabytes = 10'000'000;

TEST(Limits, TenMegabytesOfNoiseAreRefused) {
  std::mt19937 random(7);
  std::string bytes(ten_megabytes, ' '), letters(ten_megabytes, ' ');
  for (auto& c : bytes) c = static_cast<char>(1 + random() % 255);
  for (auto& c : letters) c = " \n\tGPU0123X|>-:=[]#NV"[random() % 22];
  EXPECT_NE(refusal_of(bytes).find("nothing here that is understood"), std::string::npos);
  (void)refusal_of(letters);
}

TEST(Limits, RepetitionsOfWhatReadersLookForTakeNoTime) {
  for (const char* piece :
       {"\tGPU0\tGPU1\nGPU0\t X \tPIX\n", "GPU0 X\n", "\tGPU0\n", "<system>\n", "</system><system ",
        "GPU 0: x (y)\n Link 0: 5 GB/s\n", "D\\D 0 1\n 0 1.0 2.0\n", "Running x.\n 0 1\n",
        "NCCL INFO Channel 00/02 : 0 1\n", "Hops between two GPUs\n GPU0\nGPU0 0\n",
        "-[0000:00]-\n", "1 1 float sum -1 1 1 1 0 1 1 1 0\n", "LnkSta: Speed 5GT/s\n", "{\n",
        "[[[[[[[", "\x1b["})
    (void)refusal_of(repeated(piece, ten_megabytes / 4));
}

TEST(Limits, XmlBombsAreRefused) {
  const std::string bomb =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE lolz [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b "
      "\"&a;&a;&a;\">]>\n"
      "<system version=\"1\"><cpu numaid=\"&b;\"/></system>\n";
  // The document type stands before the part that is read; its entities stay what they are.
  EXPECT_EQ(refusal_of(bomb), "(read)");
  const std::string inside = "<system version=\"1\"><!DOCTYPE x [<!ENTITY a \"b\">]></system>\n";
  EXPECT_NE(refusal_of(inside).find("document type"), std::string::npos);
}

TEST(Limits, DeepXmlIsRefused) {
  std::string text = "<system version=\"1\">\n";
  for (int i = 0; i < 100'000; ++i) text += "<pci busid=\"0000:00:00.0\">\n";
  EXPECT_NE(refusal_of(text).find("nested too deeply"), std::string::npos);
  std::string wide = "<system version=\"1\">\n<cpu numaid=\"0\">\n";
  wide += repeated("<pci/>\n", 1'000'000) + "</cpu></system>\n";
  EXPECT_NE(refusal_of(wide).find("more elements"), std::string::npos);
  EXPECT_NE(refusal_of("<system version=\"1\">\n" + repeated("<cpu/>\n", 10'000) + "</system>\n")
                .find("NUMA nodes"),
            std::string::npos);
}

TEST(Limits, DeepTreesInOurJsonAreRefused) {
  std::string nodes, links;
  for (int i = 0; i < 2000; ++i)
    nodes +=
        (i ? "," : "") + ("{\"name\":\"s" + std::to_string(i)) + "\",\"kind\":\"pcie_switch\"}";
  const auto link = [](int from, int to) {
    return "{\"from\":\"s" + std::to_string(from) + "\",\"to\":\"s" + std::to_string(to) +
           "\",\"kind\":\"pcie\"}";
  };
  std::string up, down;
  for (int i = 0; i + 1 < 2000; ++i) {
    up += (i ? "," : "") + link(i, i + 1);
    down += (i ? "," : "") + link(i + 1, i);
  }
  for (const auto& order : {up, down})
    EXPECT_THROW((void)parse_topology_json("{\"ringside_topology\":1,\"nodes\":[" + nodes +
                                           "],\"links\":[" + order + "]}"),
                 Error);
}

TEST(Limits, WhatIsNoTextIsRefused) {
  EXPECT_NE(refusal_of(std::string("GPU0\0GPU1", 9)).find("zero bytes"), std::string::npos);
  EXPECT_NE(refusal_of("").find("nothing here"), std::string::npos);
}

TEST(Limits, TextsOfWindowsShellsAreRead) {
  const std::string text = "\tGPU0\tGPU1\r\nGPU0\t X \tPIX\r\nGPU1\tPIX\t X \r\n";
  std::string wide = "\xff\xfe";
  for (const char c : text) wide += c, wide += '\0';
  EXPECT_EQ(read_text(wide, "text").size(), 1U);
}

}  // namespace
}  // namespace ringside::tests
