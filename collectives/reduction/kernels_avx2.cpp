// SPDX-License-Identifier: MIT
/// The fold kernels, compiled for AVX2 and F16C.
#define RINGSIDE_ISA_NAMESPACE isa_avx2
#include "ringside/collectives/reduction/checksum.inl"
#include "ringside/collectives/reduction/kernels.inl"
