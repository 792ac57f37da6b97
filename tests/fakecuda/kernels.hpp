// SPDX-License-Identifier: MIT
/// Kernels: what the program registered, and the host functions that stand in for them.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "ringside/tests/fakecuda/host_kernel.hpp"

namespace ringside::tests::fakecuda {

class Kernels {
 public:
  /// nvcc's start-up code announces the host stub of a kernel and its mangled name.
  void announce(const void* stub, const char* name) { names_[stub] = name; }

  /// The host version; nullptr, and a line on standard error, where there is none.
  [[nodiscard]] const HostKernel* find(const void* stub);
  /// Whether the program has such a kernel at all.
  [[nodiscard]] const char* name_of(const void* stub) const;

 private:
  void load();

  bool loaded_ = false;
  std::unordered_map<const void*, const char*> names_;
  std::unordered_map<const void*, const HostKernel*> found_;
  std::unordered_map<std::string, const HostKernel*> by_name_;
};

}  // namespace ringside::tests::fakecuda
