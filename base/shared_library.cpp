// SPDX-License-Identifier: MIT
#include "ringside/base/shared_library.hpp"

#include <dlfcn.h>

namespace ringside {

std::string last_library_error(const std::string& path) {
  const char* text = dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread in glibc
  std::string words = text != nullptr ? text : "unknown error";
  if (words.starts_with(path + ": ")) words.erase(0, path.size() + 2);
  return words;
}

}  // namespace ringside
