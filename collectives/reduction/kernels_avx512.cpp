// SPDX-License-Identifier: MIT
/// The fold kernels, compiled for AVX-512 (F, BW, VL, DQ).
#define RINGSIDE_ISA_NAMESPACE isa_avx512
#include "ringside/collectives/reduction/checksum.inl"
#include "ringside/collectives/reduction/kernels.inl"
