// SPDX-License-Identifier: MIT
/// What this process has, as the kernel tells: for tests of what must not grow.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>

#include "ringside/tests/support/sanitizers.hpp"

namespace ringside::tests {

/// Sanitizers keep freed memory back, to notice its use: how much is resident tells nothing there.
inline constexpr bool resident_memory_tells = !address_sanitizer && !thread_sanitizer;

inline std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Names in a folder, but those that begin with a dot; -1 if it cannot be read.
inline int entries_of(const char* path) {
  DIR* const folder = ::opendir(path);
  if (folder == nullptr) return -1;
  int count = 0;
  while (const dirent* entry = ::readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(folder);
  return count;
}

inline int thread_count() { return entries_of("/proc/self/task"); }
/// But for the one that is open while they are counted.
inline int open_descriptors() { return entries_of("/proc/self/fd") - 1; }

/// Memory of ours that processes share, as far as it is mapped here.
inline int mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("memfd:ringside") != std::string::npos ? 1 : 0;
  return count;
}

}  // namespace ringside::tests
