// SPDX-License-Identifier: MIT
/// NCCL's communicators as values that are given back: one per rank, all of a set made together.
#pragma once

#include <memory>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/external/nccl/library.hpp"

namespace ringside::nccl {

/// Error(device): NCCL's function and its words.
[[nodiscard]] Error error_of(const Library& library, Result result, const char* function,
                             Comm comm = nullptr);

/// One rank's end of an NCCL communicator. Used by one thread at a time.
class RankComm {
 public:
  RankComm(std::shared_ptr<const Library> library, Comm comm, int device)
      : library_(std::move(library)), comm_(comm), device_(device) {}
  RankComm(const RankComm&) = delete;
  RankComm& operator=(const RankComm&) = delete;
  /// Destroys it; the calls that are under way must have been waited for.
  ~RankComm();

  [[nodiscard]] const Library& library() const { return *library_; }
  [[nodiscard]] const std::shared_ptr<const Library>& shared_library() const { return library_; }
  /// Null after `abort`.
  [[nodiscard]] Comm get() const { return comm_; }
  [[nodiscard]] int device() const { return device_; }

  /// Ends what is under way, and this communicator with it.
  void abort() noexcept;
  [[nodiscard]] bool aborted() const { return comm_ == nullptr; }

 private:
  std::shared_ptr<const Library> library_;
  Comm comm_;
  int device_;
};

/// One NCCL communicator over all ranks, rank r on devices[r]. Throws Error(unsupported): a device
/// is listed twice, and this NCCL takes one rank a device; or it finds no usable device. Throws
/// Error(device) for any other refusal, Error(timeout) if it is not ready in time.
[[nodiscard]] std::vector<std::shared_ptr<RankComm>> start(
    const std::shared_ptr<const Library>& library, const std::vector<int>& devices);

}  // namespace ringside::nccl
