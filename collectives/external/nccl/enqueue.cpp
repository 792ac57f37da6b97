// SPDX-License-Identifier: MIT
#include "ringside/collectives/external/nccl/enqueue.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside::nccl {
namespace {

/// The calls of one group, or a single one: NCCL launches them together when the group ends.
class GroupedCalls {
 public:
  explicit GroupedCalls(const Target& target) : target_(target) {}
  GroupedCalls(const GroupedCalls&) = delete;
  GroupedCalls& operator=(const GroupedCalls&) = delete;
  // After an error: the group must end, what was noted in it goes with the communicator.
  ~GroupedCalls() {
    if (open_) (void)functions().group_end();
  }

  [[nodiscard]] const Functions& functions() const { return target_.comm.library().call(); }

  void begin_group() {
    check(functions().group_start(), "ncclGroupStart");
    open_ = true;
  }
  void end_group() {
    open_ = false;
    check(functions().group_end(), "ncclGroupEnd");
  }

  void check(Result result, const char* function) const {
    // In a group nothing has begun yet.
    if (result == Result::in_progress) result = open_ ? Result::success : target_.settle();
    if (result != Result::success)
      throw error_of(target_.comm.library(), result, function, target_.comm.get());
  }

 private:
  const Target& target_;
  bool open_ = false;
};

/// One, as an element of the type.
std::array<std::byte, 8> one_of(ElementType type) {
  std::array<std::byte, 8> bytes = {};
  const auto store = [&](auto bits) { std::memcpy(bytes.data(), &bits, sizeof bits); };
  switch (type) {
    case ElementType::float16:
      store(std::uint16_t{0x3c00});
      break;
    case ElementType::bfloat16:
      store(std::uint16_t{0x3f80});
      break;
    case ElementType::float8_e4m3:
      store(std::uint8_t{0x38});
      break;
    case ElementType::float8_e5m2:
      store(std::uint8_t{0x3c});
      break;
    case ElementType::float32:
      store(1.0F);
      break;
    case ElementType::float64:
      store(1.0);
      break;
    default:
      store(std::uint64_t{1});  // little-endian: of any width
  }
  return bytes;
}

/// The scalar as an element of the type, which is how NCCL wants it: what one times it is.
std::array<std::byte, 8> scalar_as(ElementType type, double scalar) {
  const auto one = one_of(type);
  std::array<std::byte, 8> bytes = {};
  const std::byte* const source = one.data();
  std::byte* const destination = bytes.data();
  reference_fold({.sources = std::span(&source, 1),
                  .destinations = std::span(&destination, 1),
                  .elements = 1,
                  .type = type,
                  .op = ReduceOp::premul_sum,
                  .all_raw = true,
                  .scalar = scalar});
  return bytes;
}

Reduction built_in(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::premul_sum:
      return Reduction::sum;
    case ReduceOp::prod:
      return Reduction::prod;
    case ReduceOp::max:
      return Reduction::max;
    case ReduceOp::min:
      return Reduction::min;
    case ReduceOp::avg:
      return Reduction::avg;
  }
  return Reduction::sum;
}

/// NCCL's operator for a call; a pre-multiplied sum is made for it and may go once the call has
/// been enqueued.
class Operator {
 public:
  Operator(const Call& call, const Target& target, const GroupedCalls& calls)
      : functions_(calls.functions()), comm_(target.comm.get()), op_(built_in(call.op)) {
    if (call.op != ReduceOp::premul_sum || !reduces(call.collective)) return;
    auto scalar = scalar_as(call.type, call.options->scalar);
    calls.check(functions_.red_op_create_pre_mul_sum(&op_, scalar.data(), data_type(call.type),
                                                     Residence::host_immediate, comm_),
                "ncclRedOpCreatePreMulSum");
    made_ = true;
  }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  ~Operator() {
    if (made_) (void)functions_.red_op_destroy(op_, comm_);
  }
  /// Gives it back, now that all has gone well.
  void end(const GroupedCalls& calls) {
    if (!std::exchange(made_, false)) return;
    calls.check(functions_.red_op_destroy(op_, comm_), "ncclRedOpDestroy");
  }
  [[nodiscard]] Reduction get() const { return op_; }

 private:
  const Functions& functions_;
  Comm comm_;
  Reduction op_;
  bool made_ = false;
};

/// Where the blocks of a call lie in a rank's buffers.
class Layout {
 public:
  Layout(const Call& call, const Target& target)
      : call_(call),
        input_(blocks_in(call.request(target.ranks, false), target.rank, Buffer::input)),
        output_(blocks_in(call.request(target.ranks, false), target.rank, Buffer::output)) {}

  /// In elements.
  [[nodiscard]] std::size_t length(int block) const { return block_length(call_.blocks, block); }
  [[nodiscard]] const std::byte* input(int block) const {
    return call_.input + offset(input_, block);
  }
  [[nodiscard]] std::byte* output(int block) const { return call_.output + offset(output_, block); }

 private:
  [[nodiscard]] std::size_t offset(const BlockRange& range, int block) const {
    return elements_before(call_.blocks, range, range.position(block)) * size_of(call_.type);
  }
  const Call& call_;
  BlockRange input_, output_;
};

/// The whole of one call on one rank.
class Issue {
 public:
  Issue(const Call& call, const Target& target)
      : call_(call),
        target_(target),
        calls_(target),
        f_(calls_.functions()),
        comm_(target.comm.get()),
        type_(data_type(call.type)) {}

  void run() {
    if (call_.collective == Collective::barrier) return barrier();
    Operator op(call_, target_, calls_);
    if (call_.blocks.size() == 1)
      equal_blocks(op.get());
    else
      unequal_blocks(op.get());
    op.end(calls_);
  }

 private:
  void barrier() {
    calls_.check(f_.all_reduce(target_.word, target_.word, 1, DataType::int32, Reduction::max,
                               comm_, target_.stream),
                 "ncclAllReduce");
  }

  void equal_blocks(Reduction op) {
    const std::size_t count = call_.blocks[0];
    switch (call_.collective) {
      case Collective::all_reduce:
        return calls_.check(
            f_.all_reduce(call_.input, call_.output, count, type_, op, comm_, target_.stream),
            "ncclAllReduce");
      case Collective::reduce_scatter:
        return calls_.check(
            f_.reduce_scatter(call_.input, call_.output, count, type_, op, comm_, target_.stream),
            "ncclReduceScatter");
      case Collective::all_gather:
        return calls_.check(
            f_.all_gather(call_.input, call_.output, count, type_, comm_, target_.stream),
            "ncclAllGather");
      case Collective::broadcast:
        return broadcast(call_.input, call_.output, count, call_.root);
      case Collective::reduce:
        return reduce(call_.input, call_.output, count, op, call_.root);
      default:
        return transfers();
    }
  }

  void unequal_blocks(Reduction op) {
    switch (call_.collective) {
      case Collective::all_gather:
      case Collective::reduce_scatter:
        return block_by_block(op);
      default:
        return transfers();
    }
  }

  /// Each block a broadcast from, or a reduction to, the rank that it is of.
  void block_by_block(Reduction op) {
    const Layout layout(call_, target_);
    const bool gathers = call_.collective == Collective::all_gather;
    calls_.begin_group();
    for (int block = 0; block < target_.ranks; ++block) {
      if (layout.length(block) == 0) continue;
      if (gathers)
        broadcast(call_.input, layout.output(block), layout.length(block), block);
      else
        reduce(layout.input(block), call_.output, layout.length(block), op, block);
    }
    calls_.end_group();
  }

  /// Only the root's input counts: the others may have none.
  void broadcast(const void* input, void* output, std::size_t count, int root) {
    calls_.check(f_.broadcast(target_.rank == root ? input : output, output, count, type_, root,
                              comm_, target_.stream),
                 "ncclBroadcast");
  }
  /// Only the root's output counts.
  void reduce(const void* input, void* output, std::size_t count, Reduction op, int root) {
    calls_.check(f_.reduce(input, target_.rank == root ? output : nullptr, count, type_, op, root,
                           comm_, target_.stream),
                 "ncclReduce");
  }

  /// Gather, scatter and all_to_all: every block goes from the rank that has it to the one that
  /// wants it.
  void transfers() {
    const Request request = call_.request(target_.ranks, false);
    const BlockRange mine = blocks_in(request, target_.rank, Buffer::input);
    const BlockRange wanted = blocks_in(request, target_.rank, Buffer::output);
    const Layout layout(call_, target_);
    calls_.begin_group();
    for (int i = 0; i < mine.count; ++i) {
      const int block = mine.block(i);
      if (stays(layout, wanted, block)) continue;
      if (layout.length(block) > 0)
        calls_.check(f_.send(layout.input(block), layout.length(block), type_, wanted_by(block),
                             comm_, target_.stream),
                     "ncclSend");
    }
    for (int i = 0; i < wanted.count; ++i) {
      const int block = wanted.block(i);
      if (mine.contains(block) && stays(layout, wanted, block)) continue;
      if (layout.length(block) > 0)
        calls_.check(f_.recv(layout.output(block), layout.length(block), type_,
                             sole_contributor(request, block).value(), comm_, target_.stream),
                     "ncclRecv");
    }
    calls_.end_group();
  }

  /// Whether a block of the rank's input is where its output wants it.
  [[nodiscard]] bool stays(const Layout& layout, const BlockRange& wanted, int block) const {
    return wanted.contains(block) && layout.input(block) == layout.output(block);
  }

  [[nodiscard]] int wanted_by(int block) const {
    switch (call_.collective) {
      case Collective::gather:
        return call_.root;
      case Collective::all_to_all:
        return block % target_.ranks;
      default:
        return block;  // scatter
    }
  }

  const Call& call_;
  const Target& target_;
  GroupedCalls calls_;
  const Functions& f_;
  Comm comm_;
  DataType type_;
};

void require_type(const Library& library, ElementType type) {
  const bool narrow = type == ElementType::float8_e4m3 || type == ElementType::float8_e5m2;
  if (narrow && !library.version().at_least(2, 24))
    throw Error(ErrorCode::unsupported,
                fmt::format("{} has no {}: it came with 2.24", library.name(), to_string(type)));
}

void require_aligned(const void* data, ElementType type) {
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(type) != 0)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("NCCL wants buffers that are aligned to their elements, here to {} bytes",
                    size_of(type)));
}

}  // namespace

void require(const Library& library, const Call& call, int rank, int ranks) {
  if (call.collective == Collective::barrier) return;
  require_type(library, call.type);
  const Request request = call.request(ranks, false);
  if (blocks_in(request, rank, Buffer::input).count > 0) require_aligned(call.input, call.type);
  if (blocks_in(request, rank, Buffer::output).count > 0) require_aligned(call.output, call.type);
}

void require(const Library& library, const Message& message) {
  require_type(library, message.type);
  require_aligned(message.data, message.type);
}

void enqueue(const Call& call, const Target& target) { Issue(call, target).run(); }

void enqueue(const std::vector<Routed>& messages, const Target& target) {
  GroupedCalls calls(target);
  const Functions& f = calls.functions();
  calls.begin_group();
  for (const Routed& routed : messages) {
    const Message& message = routed.message;
    if (message.elements == 0) continue;
    const DataType type = data_type(message.type);
    if (message.direction == Message::Direction::send)
      calls.check(f.send(message.data, message.elements, type, message.peer, target.comm.get(),
                         routed.stream),
                  "ncclSend");
    else
      calls.check(f.recv(message.data, message.elements, type, message.peer, target.comm.get(),
                         routed.stream),
                  "ncclRecv");
  }
  calls.end_group();
}

}  // namespace ringside::nccl
