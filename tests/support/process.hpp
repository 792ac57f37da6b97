// SPDX-License-Identifier: MIT
/// What this process has, as the kernel tells: for tests of what must not grow.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace ringside::tests {

/// Sanitizers keep freed memory back, to notice its use: how much is resident tells nothing there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool resident_memory_tells = false;
#else
inline constexpr bool resident_memory_tells = true;
#endif

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

}  // namespace ringside::tests
