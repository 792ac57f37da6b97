// SPDX-License-Identifier: MIT
/// The ranks that work together, and how they are started.
#pragma once

#include <functional>
#include <memory>

#include "ringside/collectives/communicator.hpp"

namespace ringside {

/// All ranks of a job.
class World {
 public:
  /// `ranks` threads of this process (1 to 256; they may outnumber the cores).
  [[nodiscard]] static World threads(int ranks);

  World(World&&) noexcept;
  World& operator=(World&&) noexcept;
  ~World();

  [[nodiscard]] int size() const;

  /// Runs `body` once per rank, each on a thread of its own, and returns when all have. May be
  /// called again, one call at a time; a new run begins with a new communicator. If bodies throw,
  /// all communicators that the rank belongs to (by `split`) are aborted, so that nobody waits for
  /// it, and the exception that came first is rethrown. Handles and communicators that the body
  /// itself holds wait, as always, when the exception destroys them. A body that returns with a
  /// group open counts as one that throws Error(invalid_argument): the group's calls do not run.
  void run(const std::function<void(Communicator&)>& body);

 private:
  class Implementation;
  explicit World(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace ringside
