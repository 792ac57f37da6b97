// SPDX-License-Identifier: MIT
/// Included before checksum.cu instead of host_build.hpp: what it needs beyond that.
#pragma once

#include "ringside/collectives/reduction/cuda/checksum_kernel.hpp"
#include "ringside/tests/fakecuda/kernels/host_build.hpp"

/// One host thread at a time runs kernels.
inline unsigned long long atomicAdd(unsigned long long* at, unsigned long long more) {
  const unsigned long long before = *at;
  *at += more;
  return before;
}

namespace ringside::tests::fakecuda {

inline void list_accesses(const cuda::ChecksumParameters& p, std::vector<Access>& list) {
  list.push_back({p.data, p.bytes, false});
  list.push_back({p.sum, sizeof(*p.sum), true});
}

}  // namespace ringside::tests::fakecuda
