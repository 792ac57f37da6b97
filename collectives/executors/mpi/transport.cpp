// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/transport.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/shared_library.hpp"
#include "ringside/base/text.hpp"

namespace ringside::mpi {
namespace {

namespace fs = std::filesystem;

/// An MPI that there can be a module for, and what its launcher leaves in the environment.
struct Kind {
  const char* name;
  const char* file;
  const char* variable;
};
constexpr std::array kinds = {
    Kind{"Open MPI", "libringside_openmpi.so", "OMPI_COMM_WORLD_SIZE"},
    Kind{"MPICH", "libringside_mpich.so", "PMI_SIZE"},
};

/// Where a module is, beside the program or installed; empty if nowhere.
fs::path path_of(const Kind& kind) {
  std::error_code ignored;
  const auto folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& beside : {folder, folder / RINGSIDE_MODULE_FOLDER, folder / "../../bin"})
    if (auto path = beside / kind.file; fs::exists(path, ignored)) return path;
  return {};
}

fs::path module_path() {
  if (const auto asked = option<std::string>("mpi_module"); !asked.empty()) return asked;
  for (const Kind& kind : kinds) {
    if (!environment_has(kind.variable)) continue;
    if (auto path = path_of(kind); !path.empty()) return path;
    throw Error(ErrorCode::unsupported,
                fmt::format("the mpirun of {} started this process, and {} is not beside the "
                            "program: build where that MPI's development files are installed",
                            kind.name, kind.file));
  }
  // Started without mpirun: a world of one.
  for (const Kind& kind : kinds)
    if (auto path = path_of(kind); !path.empty()) return path;
  throw Error(ErrorCode::unsupported,
              fmt::format("ranks that are processes need an MPI, and neither {} nor {} is beside "
                          "the program: build where one is installed (Debian: libopenmpi-dev)",
                          kinds[0].file, kinds[1].file));
}

ThreadLevel asked_level() {
  const auto word = option<std::string>("mpi_thread_level");
  return word == "multiple"     ? ThreadLevel::multiple
         : word == "serialized" ? ThreadLevel::serialized
         : word == "funneled"   ? ThreadLevel::funneled
                                : ThreadLevel::single;
}

Transport* load() {
  const std::string path = module_path().string();
  // Never closed: an MPI leaves threads and handlers behind. Global: an MPI opens parts of its own,
  // which look for its symbols.
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr)
    throw Error(ErrorCode::unsupported,
                fmt::format("cannot load {}: {}", quote(path, 200), last_library_error(path)));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): that is how dlsym speaks
  const auto make = reinterpret_cast<TransportFactory*>(::dlsym(module, transport_factory_name));
  if (make == nullptr)
    throw Error(ErrorCode::unsupported, fmt::format("{} is no module for MPI", quote(path, 200)));
  std::array<char, 512> what = {};
  Transport* const made = make(asked_level(), what.data(), what.size());
  if (made == nullptr) throw Error(ErrorCode::io, std::string(what.data()));
  return made;
}

}  // namespace

Transport& transport() {
  static std::mutex mutex;
  static Transport* known = nullptr;  // never freed: MPI ends with the process
  const std::lock_guard lock(mutex);
  if (known == nullptr) known = load();
  return *known;
}

}  // namespace ringside::mpi
