// SPDX-License-Identifier: MIT
#include "ringside/collectives/plugin/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>

#include "ringside/base/error.hpp"
#include "ringside/base/keep.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/shared_library.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/plugin/foreign_algorithm.hpp"
#include "ringside/ringside_algorithm.h"

namespace ringside {
namespace {

namespace fs = std::filesystem;

constexpr const char* entry_name = "ringside_algorithms_v1";
constexpr std::size_t most_algorithms = 1000;  // of one library; a wild count is caught

struct Loaded {
  std::mutex mutex;
  std::map<void*, std::vector<std::string>> names;  // by the handle of dlopen
};

/// What the option `plugins` said when its libraries were last loaded.
struct Configured {
  std::mutex mutex;
  std::string paths;
};

Loaded& loaded() {
  static Loaded& instance = never_destroyed<Loaded>();
  return instance;
}

void* open_library(const PluginFile& file) {
  std::error_code error;
  const fs::path path = file.path.empty() ? fs::path() : fs::absolute(file.path, error);
  // A pipe would be waited for.
  if (error || path.empty() || !fs::is_regular_file(path, error))
    throw Error(ErrorCode::io, file.words(error ? to_lower(error.message()) : "it is no file"));
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::string why = last_library_error(path);
    if (why == "invalid ELF header") why += ": not a shared object; compile it first";
    throw Error(ErrorCode::io, file.words(why));
  }
  return handle;
}

/// What the library lists; every entry is yet to be checked.
std::vector<const ringside_algorithm_v1*> list_of(void* handle, const PluginFile& file) {
  const auto entry = reinterpret_cast<ringside_algorithms_v1_function>(dlsym(handle, entry_name));
  if (entry == nullptr)
    file.refuse(
        fmt::format("it has no function {}: it is no plug-in, or one for another version of "
                    "ringside_algorithm.h",
                    entry_name));
  std::size_t count = 0;
  const ringside_algorithm_v1* const* first = nullptr;
  try {
    first = entry(&count);
  } catch (...) {
    file.refuse(fmt::format("{} threw an exception", entry_name));
  }
  if (first == nullptr || count == 0)
    file.refuse(fmt::format("{} lists no algorithms", entry_name));
  if (count > most_algorithms)
    file.refuse(fmt::format("{} lists {} algorithms: at most {} are read", entry_name, count,
                            most_algorithms));
  return {first, first + count};
}

std::vector<std::string> register_all(void* handle, const std::shared_ptr<PluginFile>& file) {
  std::vector<AlgorithmInfo> infos;
  std::vector<std::string> names;
  for (const auto* description : list_of(handle, *file)) {
    infos.push_back(foreign_algorithm(description, file));
    names.push_back(infos.back().name);
  }
  try {
    register_algorithms(std::move(infos));
  } catch (const Error& error) {
    file->refuse(error.what());
  }
  return names;
}

}  // namespace

std::vector<std::string> load_plugin(const std::string& path) {
  const auto file = std::make_shared<PluginFile>(path);
  auto& [mutex, names] = loaded();
  const std::lock_guard lock(mutex);
  void* handle = open_library(*file);
  if (const auto known = names.find(handle); known != names.end()) return known->second;
  return names[handle] = register_all(handle, file);
}

void load_configured_plugins() {
  static Configured& done = never_destroyed<Configured>();
  const std::string paths = option<std::string>("plugins");
  const std::lock_guard lock(done.mutex);
  if (paths == done.paths) return;
  for (const auto path : split(paths, ':'))
    if (!path.empty()) (void)load_plugin(std::string(path));
  done.paths = paths;
}

}  // namespace ringside
