// SPDX-License-Identifier: MIT
/// The collectives by name. One list of calls serves the blocking form (communicator.hpp, nothing
/// returned) and the asynchronous one (a Handle returned).
///
/// Every call exists for raw memory (any element type, lengths in elements) and for ranges of
/// elements (vector, array, span). Rules for all of them:
///
/// - All ranks of the communicator make the same calls in the same order.
/// - Zero elements are legal, and any alignment. A buffer that a rank has no part in (the output of
///   a rank that is not the root of a reduce) may be null.
/// - *In place*: a block that a rank holds in its input and in its output is at the same address
///   in both. all_reduce, broadcast, reduce: input == output. reduce_scatter and scatter (root):
///   output == input + the blocks of the ranks before. all_gather and gather (root): input ==
///   output
///   + the blocks of the ranks before. all_to_all cannot be in place. Otherwise the two do not
///   overlap.
/// - Blocks of equal length are given by that length; unequal ones by the list of all lengths,
///   the same list on every rank: one a rank, in rank order; for all_to_all one a pair, from x n +
///   to.
///
/// Errors, all as Error: `invalid_argument` for buffers, types and roots that make no sense;
/// `bad_input` and `unsupported` for the spec (before anything is sent); `mismatch` when ranks made
/// different calls (every rank gets it, no buffer was touched, the communicator works on);
/// `timeout`, `aborted`, `corrupted`, and `device` or `io` in the middle of a call (the
/// communicator has failed: every later call on any rank throws `failed` with the first cause).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/collectives/elements.hpp"
#include "ringside/collectives/reduction/types.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside {

/// What a single call may ask for beyond its arguments. All ranks must ask for the same.
struct CallOptions {
  /// A spec string ("ring:slices=8"); empty: the option `algorithm` ("auto").
  std::string algorithm = {};
  /// premul_sum: what every contribution is multiplied by.
  double scalar = 1.0;
  /// Longest wait for another rank; nothing: the option `timeout`. May differ between ranks.
  std::optional<std::chrono::duration<double>> timeout = std::nullopt;
  /// Backends of GPUs: the cudaStream_t of this rank that the call is ordered in. It comes behind
  /// what was put in the stream before, what is put there later comes behind it, and it returns
  /// when all ranks have enqueued it; an error of a device shows in the stream or in a later call.
  /// Without a stream, as on the host, the data are there when the call is made and complete when
  /// it returns. May differ between ranks; with NCCL all or none give one (else `mismatch`, the
  /// first time that such a call is made, and later a time-out). The default stream is that of the
  /// rank's device; cudaStreamPerThread is refused. Not for asynchronous calls, and for messages of
  /// NCCL only.
  /// If all ranks' streams belong to one capture, the call becomes part of its graph, which may run
  /// beside other calls and outlive the communicator; the memory that it needs for itself is freed
  /// by the library's next call after the graph has gone.
  std::optional<void*> stream = std::nullopt;
};

/// A call told as data: what the named calls fill in, and what programs use that serve every
/// collective alike.
struct Arguments {
  Collective collective = Collective::all_reduce;
  const void* input = nullptr;  ///< this rank's blocks, one after another; may be null without any
  void* output = nullptr;       ///< likewise; in place as said above
  /// Lengths in elements: one number if all blocks of the request have that length, otherwise the
  /// length of every block (see `block_count`); none for barrier.
  std::span<const std::size_t> blocks = {};
  ElementType type = ElementType::float32;  ///< of input and output alike
  ReduceOp op = ReduceOp::sum;              ///< all_reduce, reduce, reduce_scatter
  int root = 0;                             ///< broadcast, reduce, gather, scatter
};

/// One end of a transfer between two ranks.
struct Message {
  /// Which end this rank is.
  enum class Direction { send, receive };
  Direction direction = Direction::send;
  int peer = 0;                             ///< rank of the other end
  void* data = nullptr;                     ///< only read by the end that sends
  std::size_t elements = 0;                 ///< the same at both ends
  ElementType type = ElementType::float32;  ///< the same at both ends
};

/// The named calls of `Self`, which has
/// `Result submit(const Arguments&, const CallOptions&)` and the same for Message.
template <class Self, class Result>
class Calls {
 public:
  /// `output[i]` = `input[i]` of all ranks folded by `op`.
  Result all_reduce(const void* input, void* output, std::size_t elements, ElementType type,
                    ReduceOp op, const CallOptions& options = {}) {
    return submit(Collective::all_reduce, input, output, std::span(&elements, 1), type, op, 0,
                  options);
  }
  /// In place: every rank's data become the folded ones.
  template <WritableElements Data>
  Result all_reduce(Data&& data, ReduceOp op = ReduceOp::sum, const CallOptions& options = {}) {
    return all_reduce(address(data), address(data), std::ranges::size(data), element_type_of<Data>,
                      op, options);
  }
  /// Throws Error(invalid_argument) if the two differ in length.
  template <Elements In, WritableElements Out>
  Result all_reduce(const In& input, Out&& output, ReduceOp op = ReduceOp::sum,
                    const CallOptions& options = {}) {
    demand<In, Out>(std::ranges::size(input) == std::ranges::size(output),
                    "all_reduce: input and output differ in length");
    return all_reduce(address(input), address(output), std::ranges::size(input),
                      element_type_of<In>, op, options);
  }

  /// Rank r's output is block r of all ranks' inputs folded by `op`. `block`: elements of each, so
  /// the input has `block` x ranks.
  Result reduce_scatter(const void* input, void* output, std::size_t block, ElementType type,
                        ReduceOp op, const CallOptions& options = {}) {
    return reduce_scatter(input, output, std::span<const std::size_t>(&block, 1), type, op,
                          options);
  }
  /// Blocks of unequal length: `blocks[r]` elements for rank r.
  Result reduce_scatter(const void* input, void* output, std::span<const std::size_t> blocks,
                        ElementType type, ReduceOp op, const CallOptions& options = {}) {
    return submit(Collective::reduce_scatter, input, output, blocks, type, op, 0, options);
  }
  /// A block is as long as the output. Throws Error(invalid_argument) if the input has not one for
  /// every rank.
  template <Elements In, WritableElements Out>
  Result reduce_scatter(const In& input, Out&& output, ReduceOp op = ReduceOp::sum,
                        const CallOptions& options = {}) {
    demand<In, Out>(std::ranges::size(input) == std::ranges::size(output) * ranks(),
                    "reduce_scatter: the input has not a block as long as the output per rank");
    return reduce_scatter(address(input), address(output), std::ranges::size(output),
                          element_type_of<In>, op, options);
  }

  /// Every rank's output is all ranks' inputs, one block each, in rank order. `block`: elements of
  /// each, so the output has `block` x ranks.
  Result all_gather(const void* input, void* output, std::size_t block, ElementType type,
                    const CallOptions& options = {}) {
    return all_gather(input, output, std::span<const std::size_t>(&block, 1), type, options);
  }
  /// Blocks of unequal length: `blocks[r]` elements from rank r.
  Result all_gather(const void* input, void* output, std::span<const std::size_t> blocks,
                    ElementType type, const CallOptions& options = {}) {
    return submit(Collective::all_gather, input, output, blocks, type, ReduceOp::sum, 0, options);
  }
  /// A block is as long as the input. Throws Error(invalid_argument) if the output has not room for
  /// one of every rank.
  template <Elements In, WritableElements Out>
  Result all_gather(const In& input, Out&& output, const CallOptions& options = {}) {
    demand<In, Out>(std::ranges::size(output) == std::ranges::size(input) * ranks(),
                    "all_gather: the output has not a block as long as the input per rank");
    return all_gather(address(input), address(output), std::ranges::size(input),
                      element_type_of<In>, options);
  }

  /// Every rank's output is the root's input.
  Result broadcast(const void* input, void* output, std::size_t elements, ElementType type,
                   int root, const CallOptions& options = {}) {
    return submit(Collective::broadcast, input, output, std::span(&elements, 1), type,
                  ReduceOp::sum, root, options);
  }
  /// In place: the root's data end in everybody's.
  template <WritableElements Data>
  Result broadcast(Data&& data, int root, const CallOptions& options = {}) {
    return broadcast(address(data), address(data), std::ranges::size(data), element_type_of<Data>,
                     root, options);
  }

  /// The root's output is all ranks' inputs folded by `op`.
  Result reduce(const void* input, void* output, std::size_t elements, ElementType type,
                ReduceOp op, int root, const CallOptions& options = {}) {
    return submit(Collective::reduce, input, output, std::span(&elements, 1), type, op, root,
                  options);
  }
  /// In place at the root; the other ranks' data stay what they are.
  template <WritableElements Data>
  Result reduce(Data&& data, ReduceOp op, int root, const CallOptions& options = {}) {
    return reduce(address(data), address(data), std::ranges::size(data), element_type_of<Data>, op,
                  root, options);
  }

  /// The root's output is all ranks' inputs, one block of `block` elements each, in rank order.
  Result gather(const void* input, void* output, std::size_t block, ElementType type, int root,
                const CallOptions& options = {}) {
    return gather(input, output, std::span<const std::size_t>(&block, 1), type, root, options);
  }
  /// Blocks of unequal length: `blocks[r]` elements from rank r.
  Result gather(const void* input, void* output, std::span<const std::size_t> blocks,
                ElementType type, int root, const CallOptions& options = {}) {
    return submit(Collective::gather, input, output, blocks, type, ReduceOp::sum, root, options);
  }
  /// `output` may be empty except at the root. There, throws Error(invalid_argument) if it has not
  /// room for a block as long as the input of every rank.
  template <Elements In, WritableElements Out>
  Result gather(const In& input, Out&& output, int root, const CallOptions& options = {}) {
    demand<In, Out>(
        self().rank() != root || std::ranges::size(output) == std::ranges::size(input) * ranks(),
        "gather: the output has not a block as long as the input per rank");
    return gather(address(input), address(output), std::ranges::size(input), element_type_of<In>,
                  root, options);
  }

  /// Rank r's output is block r, of `block` elements, of the root's input.
  Result scatter(const void* input, void* output, std::size_t block, ElementType type, int root,
                 const CallOptions& options = {}) {
    return scatter(input, output, std::span<const std::size_t>(&block, 1), type, root, options);
  }
  /// Blocks of unequal length: `blocks[r]` elements for rank r.
  Result scatter(const void* input, void* output, std::span<const std::size_t> blocks,
                 ElementType type, int root, const CallOptions& options = {}) {
    return submit(Collective::scatter, input, output, blocks, type, ReduceOp::sum, root, options);
  }
  /// `input` may be empty except at the root. There, throws Error(invalid_argument) if it has not a
  /// block as long as the output for every rank.
  template <Elements In, WritableElements Out>
  Result scatter(const In& input, Out&& output, int root, const CallOptions& options = {}) {
    demand<In, Out>(
        self().rank() != root || std::ranges::size(input) == std::ranges::size(output) * ranks(),
        "scatter: the input has not a block as long as the output per rank");
    return scatter(address(input), address(output), std::ranges::size(output), element_type_of<In>,
                   root, options);
  }

  /// Block t of rank f's input becomes block f of rank t's output. `block`: elements of each.
  Result all_to_all(const void* input, void* output, std::size_t block, ElementType type,
                    const CallOptions& options = {}) {
    return all_to_all(input, output, std::span<const std::size_t>(&block, 1), type, options);
  }
  /// Blocks of unequal length: `blocks[f x ranks + t]` elements from rank f to rank t.
  Result all_to_all(const void* input, void* output, std::span<const std::size_t> blocks,
                    ElementType type, const CallOptions& options = {}) {
    return submit(Collective::all_to_all, input, output, blocks, type, ReduceOp::sum, 0, options);
  }
  /// Equal blocks. Throws Error(invalid_argument) if the two differ in length or cannot be cut in
  /// one for every rank.
  template <Elements In, WritableElements Out>
  Result all_to_all(const In& input, Out&& output, const CallOptions& options = {}) {
    demand<In, Out>(std::ranges::size(input) == std::ranges::size(output) &&
                        std::ranges::size(input) % ranks() == 0,
                    "all_to_all: input and output have not the same number of equal blocks, one "
                    "per rank");
    return all_to_all(address(input), address(output), std::ranges::size(input) / ranks(),
                      element_type_of<In>, options);
  }

  /// Returns when all ranks have called it. On GPUs, with a stream, all ranks' streams that are
  /// given come behind each other; without one it waits for no stream, neither this rank's nor
  /// others'.
  Result barrier(const CallOptions& options = {}) {
    return self().submit(Arguments{.collective = Collective::barrier}, options);
  }

  /// Transfers between two ranks: matched by pair, in the order of the calls; both ends must agree
  /// on length and type (else both get `mismatch`, and the communicator works on). `send` returns
  /// when the data have been taken. Two ranks that send to each other group the calls (group.hpp)
  /// or use the asynchronous form, in any order. A message to oneself needs a group. Of the options
  /// only the time limit matters.
  Result send(const void* data, std::size_t elements, ElementType type, int to,
              const CallOptions& options = {}) {
    return self().submit(
        Message{Message::Direction::send, to, const_cast<void*>(data), elements, type}, options);
  }
  /// The other end: `data` has room for `elements`, which rank `from` sends.
  Result recv(void* data, std::size_t elements, ElementType type, int from,
              const CallOptions& options = {}) {
    return self().submit(Message{Message::Direction::receive, from, data, elements, type}, options);
  }
  /// All elements of `data`.
  template <Elements Data>
  Result send(const Data& data, int to, const CallOptions& options = {}) {
    return send(address(data), std::ranges::size(data), element_type_of<Data>, to, options);
  }
  /// As many elements as `data` has, to where they are.
  template <WritableElements Data>
  Result recv(Data&& data, int from, const CallOptions& options = {}) {
    return recv(address(data), std::ranges::size(data), element_type_of<Data>, from, options);
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  [[nodiscard]] std::size_t ranks() { return static_cast<std::size_t>(self().size()); }

  template <class R>
  static auto* address(R&& range) {
    return std::ranges::data(range);
  }

  template <class In, class Out>
  static void demand(bool holds, const char* otherwise) {
    static_assert(SameElements<In, std::remove_reference_t<Out>>,
                  "input and output have elements of one type");
    if (!holds) throw Error(ErrorCode::invalid_argument, otherwise);
  }

  Result submit(Collective collective, const void* input, void* output,
                std::span<const std::size_t> blocks, ElementType type, ReduceOp op, int root,
                const CallOptions& options) {
    return self().submit(Arguments{collective, input, output, blocks, type, op, root}, options);
  }
};

}  // namespace ringside
