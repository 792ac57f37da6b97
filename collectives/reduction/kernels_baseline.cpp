// SPDX-License-Identifier: MIT
/// The fold kernels, compiled for the instructions every machine of the architecture has.
#define RINGSIDE_ISA_NAMESPACE isa_baseline
#include "ringside/collectives/reduction/checksum.inl"
#include "ringside/collectives/reduction/kernels.inl"
