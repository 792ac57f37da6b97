// SPDX-License-Identifier: MIT
/// Evidence from the files of tests/data.
#pragma once

#include <algorithm>
#include <filesystem>
#include <vector>

#include "ringside/base/file.hpp"
#include "ringside/topology/diagnose/evidence.hpp"

namespace ringside::tests {

[[nodiscard]] inline std::filesystem::path data_folder() { return RINGSIDE_TEST_DATA; }

/// A file, or all files of a folder: one machine's.
[[nodiscard]] inline Evidence evidence_in(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files = {path};
  if (std::filesystem::is_directory(path)) {
    files.clear();
    for (const auto& entry : std::filesystem::directory_iterator(path))
      files.push_back(entry.path());
    std::ranges::sort(files);
  }
  std::vector<EvidenceText> texts;
  for (const auto& file : files)
    texts.push_back({file.filename().string(), read_file(file.string())});
  return read_evidence(texts);
}

}  // namespace ringside::tests
