// SPDX-License-Identifier: MIT
/// One algorithm of a plug-in, made an algorithm like any other: what it writes through the C
/// interface is checked op by op, kept, and replayed as a stream of ops.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/ringside_algorithm.h"

namespace ringside {

/// A plug-in's file: whose turn it is to be in its code, and how messages name it.
struct PluginFile {
  explicit PluginFile(std::string its_path) : path(std::move(its_path)) {}

  std::string path;
  std::mutex turn;  ///< held while a function of the plug-in runs: never two at once

  /// `plug-in "./star.so": why`.
  [[nodiscard]] std::string words(const std::string& why) const;
  /// Throws Error(bad_input) with these words.
  [[noreturn]] void refuse(const std::string& why) const;
};

/// Reads the description with suspicion. Throws Error(bad_input) if it is of another version or
/// size, or lacks something.
[[nodiscard]] AlgorithmInfo foreign_algorithm(const ringside_algorithm_v1* description,
                                              const std::shared_ptr<PluginFile>& file);

}  // namespace ringside
