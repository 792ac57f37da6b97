// SPDX-License-Identifier: MIT
/// MPI's handles for our element types and operators. For sources that are compiled once for each
/// MPI.
#pragma once

#include <mpi.h>

#include "ringside/collectives/reduction/types.hpp"

namespace ringside::mpi {

// Handles are pointers in Open MPI and numbers in MPICH, and no constant expressions.

/// MPI_DATATYPE_NULL for those that MPI has not got.
inline MPI_Datatype datatype(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return MPI_INT8_T;
    case ElementType::uint8:
      return MPI_UINT8_T;
    case ElementType::int32:
      return MPI_INT32_T;
    case ElementType::uint32:
      return MPI_UINT32_T;
    case ElementType::int64:
      return MPI_INT64_T;
    case ElementType::uint64:
      return MPI_UINT64_T;
    case ElementType::float32:
      return MPI_FLOAT;
    case ElementType::float64:
      return MPI_DOUBLE;
    default:
      return MPI_DATATYPE_NULL;
  }
}

/// MPI_OP_NULL for those that MPI has not got.
inline MPI_Op operation(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return MPI_SUM;
    case ReduceOp::prod:
      return MPI_PROD;
    case ReduceOp::max:
      return MPI_MAX;
    case ReduceOp::min:
      return MPI_MIN;
    default:
      return MPI_OP_NULL;
  }
}

}  // namespace ringside::mpi
