// SPDX-License-Identifier: MIT
/// Loads libraries of host kernels and finds a kernel's host version by its mangled name.
#include "ringside/tests/fakecuda/kernels.hpp"
#include "ringside/tests/fakecuda/configuration.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <sstream>

namespace ringside::tests::fakecuda {
namespace {

/// Colon separated paths: FAKECUDA_KERNELS, or the library beside the double.
std::string library_paths() {
  if (std::string paths = kernel_libraries(); !paths.empty()) return paths;
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&library_paths), &self) == 0) return "";
  const std::string path = self.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + "libringside_fake_kernels.so";
}

}  // namespace

void Kernels::load() {
  loaded_ = true;
  std::istringstream paths(library_paths());
  for (std::string path; std::getline(paths, path, ':');) {
    // Local: nvcc's stub of a kernel and its host version have the same name.
    void* library = dlopen(path.c_str(), RTLD_LOCAL | RTLD_NOW);
    if (library == nullptr) {
      std::fprintf(stderr, "fakecuda: no host kernels: %s\n", dlerror());
      continue;
    }
    using Lister = const HostKernel* (*)(std::size_t*);
    const auto list = reinterpret_cast<Lister>(dlsym(library, "fakecuda_kernels"));
    if (list == nullptr) {
      std::fprintf(stderr, "fakecuda: no host kernels: %s\n", dlerror());
      continue;
    }
    std::size_t count = 0;
    const HostKernel* kernels = list(&count);
    for (std::size_t i = 0; i < count; ++i) by_name_.emplace(kernels[i].name, &kernels[i]);
  }
}

const char* Kernels::name_of(const void* stub) const {
  const auto announced = names_.find(stub);
  if (announced != names_.end()) return announced->second;
  // Built without nvcc: the kernel itself.
  Dl_info symbol;
  const bool exact =
      dladdr(stub, &symbol) != 0 && symbol.dli_sname != nullptr && symbol.dli_saddr == stub;
  return exact ? symbol.dli_sname : nullptr;
}

const HostKernel* Kernels::find(const void* stub) {
  const auto known = found_.find(stub);
  if (known != found_.end()) return known->second;
  if (!loaded_) load();
  const char* name = name_of(stub);
  const auto kernel = by_name_.find(name == nullptr ? "" : name);
  if (kernel == by_name_.end()) {
    std::fprintf(stderr, "fakecuda: no host version of kernel %s\n",
                 name == nullptr ? "(unknown)" : name);
    return nullptr;
  }
  found_.emplace(stub, kernel->second);
  return kernel->second;
}

}  // namespace ringside::tests::fakecuda
