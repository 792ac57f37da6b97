// SPDX-License-Identifier: MIT
/// A library that is opened while the program runs, if it is there.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <string>

namespace ringside {

class Library {
 public:
  explicit Library(const std::string& path)
      : handle_(path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL),
                [](void* handle) {
                  if (handle != nullptr) ::dlclose(handle);
                }) {}

  [[nodiscard]] bool opened() const { return handle_ != nullptr; }

  /// Leaves the pointer null where the library has no such function.
  template <class Function>
  void find(Function*& function, const char* symbol) const {
    if (handle_ != nullptr) function = reinterpret_cast<Function*>(::dlsym(handle_.get(), symbol));
  }

 private:
  std::unique_ptr<void, void (*)(void*)> handle_;
};

}  // namespace ringside
