// SPDX-License-Identifier: MIT
/// What we use of NCCL's C interface, declared here because the library is opened at run time and
/// need not be installed where we are built. Names, values and meanings are those of the public
/// documentation ("NCCL API"); they are part of its binary interface and have not changed since
/// 2.10.
#pragma once

#include <cstddef>

#include "ringside/collectives/reduction/types.hpp"

struct CUstream_st;  // cudaStream_t points to it

namespace ringside::nccl {

/// ncclResult_t.
enum class Result : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7,
};

/// ncclDataType_t.
enum class DataType : int {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
  float8_e4m3 = 10,
  float8_e5m2 = 11,
};

/// ncclRedOp_t: these, or one that was created.
enum class Reduction : int { sum = 0, prod = 1, max = 2, min = 3, avg = 4 };

/// ncclScalarResidence_t.
enum class Residence : int { device = 0, host_immediate = 1 };

/// ncclComm_t points to it.
struct CommunicatorHandle;
using Comm = CommunicatorHandle*;
using Stream = CUstream_st*;

/// NCCL_SPLIT_NOCOLOR.
inline constexpr int split_no_color = -1;

/// The functions that are looked up in the library; see `Library` for who may be null.
struct Functions {
  Result (*get_version)(int* version);
  Result (*comm_init_all)(Comm* comms, int count, const int* devices);
  Result (*comm_destroy)(Comm comm);
  Result (*comm_abort)(Comm comm);
  Result (*comm_get_async_error)(Comm comm, Result* error);
  const char* (*get_error_string)(Result result);
  Result (*group_start)();
  Result (*group_end)();
  Result (*all_reduce)(const void* input, void* output, std::size_t count, DataType type,
                       Reduction op, Comm comm, Stream stream);
  Result (*reduce_scatter)(const void* input, void* output, std::size_t output_count, DataType type,
                           Reduction op, Comm comm, Stream stream);
  Result (*all_gather)(const void* input, void* output, std::size_t input_count, DataType type,
                       Comm comm, Stream stream);
  Result (*broadcast)(const void* input, void* output, std::size_t count, DataType type, int root,
                      Comm comm, Stream stream);
  Result (*reduce)(const void* input, void* output, std::size_t count, DataType type, Reduction op,
                   int root, Comm comm, Stream stream);
  Result (*send)(const void* data, std::size_t count, DataType type, int peer, Comm comm,
                 Stream stream);
  Result (*recv)(void* data, std::size_t count, DataType type, int peer, Comm comm, Stream stream);
  Result (*red_op_create_pre_mul_sum)(Reduction* op, void* scalar, DataType type,
                                      Residence residence, Comm comm);
  Result (*red_op_destroy)(Reduction op, Comm comm);

  const char* (*get_last_error)(Comm comm);  ///< null before 2.13
  Result (*comm_split)(Comm comm, int color, int key, Comm* part,
                       void* configuration);  ///< null before 2.18
};

[[nodiscard]] constexpr DataType data_type(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return DataType::int8;
    case ElementType::uint8:
      return DataType::uint8;
    case ElementType::int32:
      return DataType::int32;
    case ElementType::uint32:
      return DataType::uint32;
    case ElementType::int64:
      return DataType::int64;
    case ElementType::uint64:
      return DataType::uint64;
    case ElementType::float16:
      return DataType::float16;
    case ElementType::float32:
      return DataType::float32;
    case ElementType::float64:
      return DataType::float64;
    case ElementType::bfloat16:
      return DataType::bfloat16;
    case ElementType::float8_e4m3:
      return DataType::float8_e4m3;
    case ElementType::float8_e5m2:
      return DataType::float8_e5m2;
  }
  return DataType::uint8;
}

}  // namespace ringside::nccl
