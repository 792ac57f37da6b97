// SPDX-License-Identifier: MIT
#include "ringside/collectives/layout.hpp"

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

BlockRange input_blocks(const Request& request, int rank) {
  const int n = request.ranks;
  switch (request.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      return {0, 1};
    case Collective::broadcast:
      return {0, rank == request.root ? 1 : 0};
    case Collective::reduce_scatter:
      return {0, n};
    case Collective::all_gather:
    case Collective::gather:
      return {rank, 1};
    case Collective::scatter:
      return {0, rank == request.root ? n : 0};
    case Collective::all_to_all:
      return {rank * n, n};
    case Collective::barrier:
      return {0, 0};
  }
  throw Error(ErrorCode::internal, "unknown collective");
}

BlockRange output_blocks(const Request& request, int rank) {
  const int n = request.ranks;
  switch (request.collective) {
    case Collective::all_reduce:
    case Collective::broadcast:
      return {0, 1};
    case Collective::reduce:
      return {0, rank == request.root ? 1 : 0};
    case Collective::reduce_scatter:
    case Collective::scatter:
      return {rank, 1};
    case Collective::all_gather:
      return {0, n};
    case Collective::gather:
      return {0, rank == request.root ? n : 0};
    case Collective::all_to_all:
      return {rank, n, n};
    case Collective::barrier:
      return {0, 0};
  }
  throw Error(ErrorCode::internal, "unknown collective");
}

}  // namespace

std::string_view to_string(Buffer buffer) {
  switch (buffer) {
    case Buffer::input:
      return "input";
    case Buffer::output:
      return "output";
    case Buffer::scratch:
      return "scratch";
  }
  return "?";
}

int block_count(const Request& request) {
  switch (request.collective) {
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce:
      return 1;
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::gather:
    case Collective::scatter:
      return request.ranks;
    case Collective::all_to_all:
      return request.ranks * request.ranks;
    case Collective::barrier:
      return 0;
  }
  throw Error(ErrorCode::internal, "unknown collective");
}

BlockRange blocks_in(const Request& request, int rank, Buffer buffer) {
  switch (buffer) {
    case Buffer::input:
      return input_blocks(request, rank);
    case Buffer::output:
      return output_blocks(request, rank);
    case Buffer::scratch:
      return {0, 0};
  }
  throw Error(ErrorCode::internal, "unknown buffer");
}

std::optional<int> shared_block(const BlockRange& input, const BlockRange& output) {
  if (input.count == 1 && output.contains(input.first)) return input.first;
  if (output.count == 1 && input.contains(output.first)) return output.first;
  return std::nullopt;
}

std::size_t elements_before(std::span<const std::size_t> lengths, const BlockRange& held,
                            int count) {
  if (lengths.size() == 1) return lengths.front() * static_cast<std::size_t>(count);
  std::size_t elements = 0;
  for (int i = 0; i < count; ++i) elements += block_length(lengths, held.block(i));
  return elements;
}

std::optional<int> sole_contributor(const Request& request, int block) {
  switch (request.collective) {
    case Collective::broadcast:
    case Collective::scatter:
      return request.root;
    case Collective::all_gather:
    case Collective::gather:
      return block;
    case Collective::all_to_all:
      return block / request.ranks;
    default:
      return std::nullopt;
  }
}

}  // namespace ringside
