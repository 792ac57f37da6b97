// SPDX-License-Identifier: MIT
/// Copies between this process and the private memory of another of the same host, in one go and
/// by the kernel (process_vm_readv, process_vm_writev).
#pragma once

#include <cstddef>

namespace ringside::mpi {

/// False if the kernel refuses (no permission, no such process), then perhaps with a part copied.
[[nodiscard]] bool read_private(int process, const std::byte* from, std::byte* to,
                                std::size_t bytes);
[[nodiscard]] bool write_private(int process, std::byte* to, const std::byte* from,
                                 std::size_t bytes);

}  // namespace ringside::mpi
