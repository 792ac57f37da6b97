// SPDX-License-Identifier: MIT
/// Device memory that processes share: a file without a name, whose last page says who has it open.
/// A handle says in which process the file is open and as what, so nothing is left behind however
/// processes end.
#pragma once

#include <cuda_runtime_api.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ringside::tests::fakecuda {

/// What a cudaIpcMemHandle_t holds.
struct ExportedName {
  std::uint64_t magic = 0;
  pid_t process = 0;
  int descriptor = -1;
  std::uint64_t number = 0;  ///< of the export, within its process
  std::uint64_t bytes = 0;
  int device = 0;

  /// Nothing: no handle of this double's.
  [[nodiscard]] static std::optional<ExportedName> of(const cudaIpcMemHandle_t& handle);
  [[nodiscard]] cudaIpcMemHandle_t handle() const;
};

/// A mapping of such memory; gives nothing back by itself.
class Exported {
 public:
  /// Moves `mapped` bytes at `base` (whole pages, mapped by themselves) into a new file, at the
  /// same address. Nothing if the system refuses.
  [[nodiscard]] static std::optional<Exported> make(std::byte* base, std::size_t mapped);
  /// Maps what another process has exported. Nothing if it is not there any more.
  [[nodiscard]] static std::optional<Exported> open(const ExportedName& name);

  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::size_t mapped() const { return mapped_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// Other processes that have it open and are alive.
  [[nodiscard]] std::vector<pid_t> openers() const;
  /// The owner gives it up: nobody opens it any more.
  void set_freed();
  /// This process, which has it open, closes it.
  void leave();
  void unmap();

 private:
  struct Notes;
  Notes* notes_ = nullptr;
  std::byte* base_ = nullptr;
  std::size_t mapped_ = 0;  // without the notes
  int descriptor_ = -1;
  std::uint64_t number_ = 0;
};

}  // namespace ringside::tests::fakecuda
