// SPDX-License-Identifier: MIT
/// NCCL, opened at run time: Ringside is never linked to it.
#pragma once

#include <memory>
#include <string>

#include "ringside/collectives/external/nccl/interface.hpp"

namespace ringside::nccl {

/// A version of NCCL, in the order of releases.
struct Version {
  int code = 0;  ///< as ncclGetVersion gives it: 22809; before 2.9: 2804

  [[nodiscard]] int major() const { return code / (code < 10000 ? 1000 : 10000); }
  [[nodiscard]] int minor() const { return code % (code < 10000 ? 1000 : 10000) / 100; }
  [[nodiscard]] int patch() const { return code % 100; }
  /// "2.28.9".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool at_least(int wanted_major, int wanted_minor) const {
    return major() != wanted_major ? major() > wanted_major : minor() >= wanted_minor;
  }
};

/// The opened library. It stays loaded until the process ends: it has threads of its own.
class Library {
 public:
  /// Opens the one that the option `nccl_library` names (a path, or a name that the loader looks
  /// up); the same again if it has been opened. Throws Error(unsupported): there is none; or it is
  /// no NCCL, is older than 2.10 (the first with averages and pre-multiplied sums), or lacks a
  /// function.
  [[nodiscard]] static std::shared_ptr<const Library> open();

  explicit Library(const std::string& path);

  [[nodiscard]] const Functions& call() const { return functions_; }
  [[nodiscard]] Version version() const { return version_; }
  /// "NCCL 2.28.9".
  [[nodiscard]] std::string name() const { return "NCCL " + version_.text(); }

  /// NCCL's words for a result, and what it says of its last error where it can: one line.
  [[nodiscard]] std::string words(Result result, Comm comm = nullptr) const;

 private:
  Functions functions_ = {};
  Version version_;
};

}  // namespace ringside::nccl
