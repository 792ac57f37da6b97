// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/private_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace ringside::mpi {
namespace {

/// A call moves at most some 2 GiB.
constexpr std::size_t most = std::size_t{1} << 30;

template <class Call>
bool in_pieces(Call call, int process, std::byte* own, std::byte* theirs, std::size_t bytes) {
  while (bytes > 0) {
    const std::size_t length = std::min(bytes, most);
    const iovec here{own, length};
    const iovec there{theirs, length};
    const ssize_t moved = call(process, &here, 1, &there, 1, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    own += moved;
    theirs += moved;
    bytes -= static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

bool read_private(int process, const std::byte* from, std::byte* to, std::size_t bytes) {
  return in_pieces(::process_vm_readv, process, to, const_cast<std::byte*>(from), bytes);
}

bool write_private(int process, std::byte* to, const std::byte* from, std::size_t bytes) {
  return in_pieces(::process_vm_writev, process, const_cast<std::byte*>(from), to, bytes);
}

}  // namespace ringside::mpi
