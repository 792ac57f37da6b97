// SPDX-License-Identifier: MIT
/// What a sweep runs on: the host's threads and memory, or GPUs. The sweep knows no more of it than
/// this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ringside/bench/report.hpp"
#include "ringside/bench/subject.hpp"

namespace ringside::bench {

/// One collective at one number of ranks: the memory, and the subjects that take turns on it.
class PlatformGroup {
 public:
  PlatformGroup() = default;
  PlatformGroup(const PlatformGroup&) = delete;
  PlatformGroup& operator=(const PlatformGroup&) = delete;
  virtual ~PlatformGroup() = default;

  /// They refer to this group. What is left out is noted.
  [[nodiscard]] virtual std::vector<std::unique_ptr<Subject>> subjects(
      std::vector<Skipped>& skipped) = 0;
  /// Before calls of blocks of `count` elements are timed: their data become numbers that no
  /// repetition in place turns into slow ones (subnormals).
  virtual void prepare(ElementType type, std::uint64_t count) = 0;
};

class Platform {
 public:
  Platform() = default;
  Platform(const Platform&) = delete;
  Platform& operator=(const Platform&) = delete;
  virtual ~Platform() = default;

  /// Throws Error(bad_input), before anything is measured, where the memory of such calls of up to
  /// `bytes` bytes (volume.hpp) is not there.
  virtual void check_memory(const Request& what, std::uint64_t bytes) const = 0;
  /// `what`: of sendrecv an all_reduce, whose buffers are as long.
  [[nodiscard]] virtual std::unique_ptr<PlatformGroup> group(Operation operation,
                                                             const Request& what,
                                                             std::uint64_t bytes) = 0;
  /// Nothing on the host.
  [[nodiscard]] virtual std::optional<Gpus> gpus() const { return std::nullopt; }
  /// Whether the time between two processor cores says something about the rounds (probe.hpp).
  [[nodiscard]] virtual bool depends_on_cores() const { return true; }
};

/// Refers to the request. Throws Error: unsupported for what is not there (competitors, GPUs,
/// NCCL); bad_input for what makes no sense on it.
[[nodiscard]] std::unique_ptr<Platform> make_platform(const BenchRequest& request);

[[nodiscard]] std::unique_ptr<Platform> make_host_platform(const BenchRequest& request);
[[nodiscard]] std::unique_ptr<Platform> make_gpu_platform(const BenchRequest& request);

/// Completes a request for GPUs: without devices all there are, without ranks one for each device.
/// Throws Error: unsupported without a usable GPU, and for a virtual one; bad_input for one that
/// does not exist.
void settle_gpus(BenchRequest& request);

}  // namespace ringside::bench
