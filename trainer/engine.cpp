// SPDX-License-Identifier: MIT
#include "ringside/trainer/engine.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "ringside/base/options.hpp"
#include "ringside/base/shared_library.hpp"
#include "ringside/base/text.hpp"
#include "ringside/trainer/engine_module.hpp"
#include "ringside/trainer/mlp/mlp.hpp"

namespace ringside::trainer {
namespace {

namespace fs = std::filesystem;

constexpr auto file_name = "libringside_torch.so";

/// Where the module is: as asked for, beside the program, or where it is installed.
fs::path module_path() {
  if (const auto asked = option<std::string>("torch_engine"); !asked.empty()) return asked;
  std::error_code ignored;
  const auto folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const auto installed = folder / RINGSIDE_ENGINE_FOLDER / file_name;
  for (const auto& path : {folder / file_name, installed})
    if (fs::exists(path, ignored)) return path;
  throw Error(ErrorCode::unsupported,
              fmt::format("this model needs libtorch, and {} is not beside the program: install "
                          "libtorch-dev and build again (the model mlp needs none)",
                          file_name));
}

std::shared_ptr<Engine> load_torch_engine() {
  const std::string path = module_path().string();
  // Never closed: libtorch leaves threads and handlers behind that its code is needed for.
  void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr)
    throw Error(ErrorCode::unsupported,
                fmt::format("cannot load {}: {}", quote(path, 200), last_library_error(path)));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): that is how dlsym speaks
  const auto make = reinterpret_cast<EngineFactory*>(::dlsym(module, engine_factory_name));
  if (make == nullptr)
    throw Error(ErrorCode::unsupported, fmt::format("{} is no engine", quote(path, 200)));
  return std::shared_ptr<Engine>(make());
}

}  // namespace

std::shared_ptr<Engine> engine_for(Model model) {
  return needs_torch(model) ? load_torch_engine() : make_mlp_engine();
}

Memory grown(Replica& replica, Memory& kept, std::size_t elements) {
  if (kept.elements < elements) kept = replica.allocate(elements, kept.type);
  return kept.part({0, elements});
}

bool keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int never = 1 << 30;
  // All but the first thread allocate from heaps of 64 MiB, which are unmapped one by one when they
  // are empty, unless that left less than this (measured: 0.26 or 0.09 million page faults in 60
  // steps of LeNet, 11 % of one rank's time).
  constexpr int heap = 64 << 20;
  return ::mallopt(M_MMAP_THRESHOLD, never) == 1 && ::mallopt(M_TRIM_THRESHOLD, never) == 1 &&
         ::mallopt(M_TOP_PAD, heap) == 1;
#else
  return false;
#endif
}

}  // namespace ringside::trainer
