// SPDX-License-Identifier: MIT
/// Runs a fuzz target without a fuzzer: on every file of a corpus and on mutations of it, the same
/// ones each time. Usage: <test> CORPUS-FOLDER [MUTATIONS-PER-FILE]
///
/// The target has libFuzzer's interface: in the fuzz preset, clang's -fsanitize=fuzzer takes the
/// place of this file.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "ringside/base/file.hpp"
#include "ringside/tests/fuzz/require.hpp"

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) {
  return static_cast<std::size_t>(random() % std::max<std::size_t>(end, 1));
}

/// One to four small changes: flip, overwrite, insert, erase, repeat a piece, splice another file.
std::string mutated(std::string text, const std::vector<std::string>& corpus, Random& random) {
  static const std::vector<std::string> interesting{"-1",    "0",    "9223372036854775808",
                                                    "1e999", "\xff", std::string(1, '\0'),
                                                    "[",     "]",    "{",
                                                    "}",     "\"",   ":",
                                                    ",",     "\n",   "-",
                                                    "=",     "/",    "..",
                                                    "K",     "us"};
  const std::size_t changes = 1 + below(random, 4);
  for (std::size_t change = 0; change < changes; ++change) {
    const std::size_t at = below(random, text.size() + 1);
    const std::size_t length = below(random, std::min<std::size_t>(text.size() - at, 16) + 1);
    switch (below(random, 6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(random, 8)));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 2:
        text.insert(at, interesting[below(random, interesting.size())]);
        break;
      case 3:
        text.erase(at, length);
        break;
      case 4:
        text.insert(at, text.substr(at, length));
        break;
      default: {
        const auto& other = corpus[below(random, corpus.size())];
        text.resize(at);
        text += other.substr(below(random, other.size() + 1));
      }
    }
  }
  return text;
}

void try_input(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

/// Where the input of the run in progress is kept, so that a finding can be looked at.
std::string last_input;

void write_last_input() {
  std::fprintf(stderr, "input (%zu bytes): ", last_input.size());
  for (const char c : last_input) std::fprintf(stderr, "\\x%02x", static_cast<unsigned char>(c));
  std::fprintf(stderr, "\n");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: %s CORPUS-FOLDER [MUTATIONS-PER-FILE]\n", argv[0]);
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> corpus{""};
  for (const auto& path : paths) corpus.push_back(ringside::read_file(path.string()));

  const unsigned long rounds = argc == 3 ? std::strtoul(argv[2], nullptr, 10) : 0;
  // A finding aborts. NOLINTNEXTLINE(bugprone-signal-handler): the process ends there anyway
  std::signal(SIGABRT, [](int) { write_last_input(); });
  Random random(1);  // NOLINT(bugprone-random-generator-seed): the same inputs on every run
  std::size_t runs = 0;
  for (const auto& text : corpus) {
    for (unsigned long round = 0; round <= rounds; ++round, ++runs) {
      last_input = round == 0 ? text : mutated(text, corpus, random);
      try_input(last_input);
    }
  }
  std::printf("%zu inputs from %zu files\n", runs, paths.size());
  return paths.empty() ? 1 : 0;  // a missing corpus must not pass
} catch (const std::exception& error) {
  std::fprintf(stderr, "unexpected exception: %s\n", error.what());
  write_last_input();
  return 1;
}
