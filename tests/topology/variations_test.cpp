// SPDX-License-Identifier: MIT
/// However a text was pasted, it is read the same: indented, quoted, coloured, with other line
/// ends, with text around it, twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/readers/facts_json.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;

std::string each_line(const std::string& text,
                      const std::function<std::string(std::string_view)>& change) {
  std::string result;
  auto lines = split(text, '\n');
  const bool ends = !lines.empty() && lines.back().empty();
  if (ends) lines.pop_back();
  for (std::size_t i = 0; i < lines.size(); ++i)
    result += change(lines[i]) + (i + 1 < lines.size() || ends ? "\n" : "");
  return result;
}

/// As a terminal shows tabs.
std::string expand_tabs(std::string_view line) {
  std::string result;
  for (const char c : line) {
    if (c != '\t') {
      result += c;
      continue;
    }
    do result += ' ';
    while (result.size() % 8 != 0);
  }
  return result;
}

/// What names the NICs is no part of the legend, nor is what follows it.
std::string without_legend(const std::string& text) {
  const auto at = text.find("Legend:");
  if (at == std::string::npos || text.find("NIC Legend") != std::string::npos ||
      text.find("NIC0:") != std::string::npos || text.find("GPU0", at) != std::string::npos)
    return text;
  bool in_legend = false;
  std::string kept;
  for (const auto line : split(text, '\n')) {
    const bool belongs = trim(line).empty() || line.find(" = ") != std::string_view::npos;
    in_legend = line.find("Legend:") != std::string_view::npos || (in_legend && belongs);
    if (!in_legend) kept += std::string(line) + "\n";
  }
  return kept;
}

struct Variation {
  std::string name;
  std::function<std::string(const std::string&)> make;
};

const std::vector<Variation>& variations() {
  static const std::vector<Variation> all = {
      {"indented by four",
       [](const std::string& text) {
         return each_line(text, [](auto line) { return "    " + std::string(line); });
       }},
      {"CRLF",
       [](const std::string& text) {
         return each_line(text, [](auto line) { return std::string(line) + "\r"; });
       }},
      {"tabs to blanks", [](const std::string& text) { return each_line(text, expand_tabs); }},
      {"quoted",
       [](const std::string& text) {
         return each_line(text, [](auto line) { return "> " + std::string(line); });
       }},
      {"quoted twice",
       [](const std::string& text) {
         return each_line(text, [](auto line) { return ">> " + std::string(line); });
       }},
      {"coloured",
       [](const std::string& text) {
         return each_line(text,
                          [](auto line) { return "\x1b[4m" + std::string(line) + "\x1b[0m"; });
       }},
      {"colours without escape",
       [](const std::string& text) {
         return each_line(text, [](auto line) { return "[1;32m" + std::string(line) + "[0m"; });
       }},
      {"behind a prompt",
       [](const std::string& text) {
         return "user@host:~/work$ ls\nREADME.md  run.sh\nuser@host:~/work$ cat log.txt\n" + text;
       }},
      {"text behind it",
       [](const std::string& text) {
         return text + (text.ends_with('\n') ? "" : "\n") +
                "\nAny idea why this is slow?\nuser@host:~$ exit\n";
       }},
      {"tagged by mpirun",
       [](const std::string& text) {
         return each_line(text, [](auto line) { return "[1,0]<stdout>:" + std::string(line); });
       }},
      {"in a JSON string",
       [](const std::string& text) {
         std::string json = Json("$ cat log\n" + text + "\n").dump();
         return "{\"log\":" + json + "}";
       }},
      {"UTF-8 mark in front", [](const std::string& text) { return "\xef\xbb\xbf" + text; }},
      {"trailing blanks",
       [](const std::string& text) {
         return each_line(text, [](auto line) { return std::string(line) + "   "; });
       }},
      {"no legend", without_legend},
  };
  return all;
}

/// Damaged and cut texts say less when more is done to them: those that are whole are varied.
bool is_clean(const Json& expected) {
  const std::string kind = expected.value("kind", "");
  return !expected.value("refuse", false) && !expected.value("truncated", false) &&
         !expected.value("damaged", false) && !expected.contains("more_matrices") &&
         kind != "lspci-tree" && kind.find("xml") == std::string::npos;
}

std::vector<fs::path> clean_files() {
  std::vector<fs::path> files;
  for (const char* folder : {"topo", "pairs", "perf"})
    for (const auto& entry :
         fs::directory_iterator(fs::path(RINGSIDE_TEST_DATA) / "corpus" / folder)) {
      if (entry.path().extension() != ".txt") continue;
      const auto expected = fs::path(entry.path()).replace_extension(".expect.json").string();
      if (is_clean(Json::parse(read_file(expected)))) files.push_back(entry.path());
    }
  std::ranges::sort(files);
  return files;
}

std::string facts_of(const std::string& text) {
  try {
    return dump_json(facts_json(read_text(text, "text")));
  } catch (const Error& error) {
    return error.what();
  }
}

/// What a legend alone tells: `topo -mp` without its command.
bool needs_legend(const std::string& text) {
  return text.find("topo -mp") == std::string::npos &&
         facts_of(text).find("topo-mp") != std::string::npos;
}

TEST(Variations, APastedTextIsReadTheSame) {
  int files = 0, read = 0;
  for (const auto& file : clean_files()) {
    const std::string text = read_file(file.string());
    const std::string facts = facts_of(text);
    ++files;
    for (const auto& variation : variations()) {
      if (variation.name == "no legend" && needs_legend(text)) continue;
      SCOPED_TRACE(file.filename().string() + ", " + variation.name);
      EXPECT_EQ(facts_of(variation.make(text)), facts);
      ++read;
    }
  }
  std::cout << files << " clean files, " << read << " variations read the same\n";
  EXPECT_GT(files, 100);
}

TEST(Variations, TwoPastesOfAMatrixAreTwoEqualMatrices) {
  int files = 0;
  for (const auto& file : clean_files()) {
    const std::string text = read_file(file.string());
    const auto once = facts_json(read_text(text, "text"));
    if (once["kind"] != "topo-m" || once.contains("more_matrices")) continue;
    SCOPED_TRACE(file.filename().string());
    ++files;
    auto matrix = once;
    matrix.erase("host");  // stands beside the matrices, once
    auto twice = facts_json(read_text(text + "\n\n" + text, "text"));
    ASSERT_TRUE(twice.contains("more_matrices"));
    ASSERT_EQ(twice["more_matrices"].size(), 1U);
    EXPECT_EQ(twice["more_matrices"][0], matrix);
    twice.erase("more_matrices");
    EXPECT_EQ(twice, once);
  }
  std::cout << files << " files pasted twice\n";
  EXPECT_GT(files, 50);
}

}  // namespace
}  // namespace ringside::tests
