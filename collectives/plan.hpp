// SPDX-License-Identifier: MIT
/// The plan: what an algorithm writes and everything else reads.
///
/// A plan is a list of ops over chunks, for all ranks at once. **Its meaning is running the ops one
/// after another in listed order**; whatever runs it otherwise (threads, devices, slices) must keep
/// the order of any two ops that conflict (one writes a location that the other touches), and of
/// nothing else. Those edges are derived (dependencies.hpp), never written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside {

/// Where a piece of data lies: a chunk in a rank's input or output, or in one of its scratch slots.
struct Location {
  int rank = 0;  ///< whose memory it is
  Buffer buffer = Buffer::input;
  int slot = 0;   ///< scratch: which slot of the rank; 0 elsewhere
  int chunk = 0;  ///< numbered through all blocks (layout.hpp)

  bool operator==(const Location&) const = default;
};

/// An op: rank `rank`, in its lane `lane`, reads the sources (k >= 1), folds them left to right and
/// stores the value to the destinations (m >= 1), for `count` consecutive chunks from the one that
/// the locations name. All locations of an op name the same chunk. k = 1 is a copy (m > 1: a
/// multicast), k > 1 a reduction; a destination may be any of the sources. At least one location is
/// the executing rank's: whether data are pushed or pulled is the choice of that rank.
///
/// A view: the spans belong to whoever made it (a Plan, or a Builder until its next op).
struct Op {
  int rank = 0;                            ///< executes it
  int lane = 0;                            ///< 0 to Shape::lanes - 1
  int count = 1;                           ///< consecutive chunks, in every location
  std::span<const Location> sources;       ///< k >= 1, in the order in which they are folded
  std::span<const Location> destinations;  ///< m >= 1, no two the same

  /// The first one's number, which all locations share.
  [[nodiscard]] int chunk() const { return sources.front().chunk; }
};

/// Scratch of a rank: room for `chunk_count` chunks from `first_chunk`, each as long as the data
/// chunk of that number.
struct ScratchSlot {
  /// What memory it is to be made of.
  enum class Place : std::uint8_t {
    device,  ///< the rank's own memory (on the host executor: any memory)
    host,    ///< pinned host memory, which every device reaches
    wire,    ///< a message on its way to the rank: no memory at all (only `lower` makes these)
  };
  int first_chunk = 0;  ///< numbered through all blocks, as `chunk` of the locations in it
  int chunk_count = 1;  ///< consecutive ones
  Place place = Place::device;

  bool operator==(const ScratchSlot&) const = default;
};

/// What a plan from outside (a file, a plug-in) may ask for: no more than a machine can hold and a
/// minute can prove, and far above any plan that the prover accepts.
inline constexpr int most_foreign_chunks_per_block = 1 << 20;
inline constexpr std::size_t most_foreign_locations = 1024;  ///< of an op

/// How the data are cut and how much of it may be under way. Cutting in chunks decides bits (chunks
/// take different routes); slices, lanes and depth never do.
struct Shape {
  int chunks_per_block = 1;  ///< nearly equal in length (part_of)
  int lanes = 1;             ///< queues of a rank; a lane runs its ops in order, slice after slice
  int slices = 1;            ///< every chunk is cut in so many slices, which pipeline
  int depth = 1;  ///< slices that scratch holds at a time: slice s waits for the users of s - depth

  bool operator==(const Shape&) const = default;
};

/// The ops of a request, in listed order, with the scratch that they use. A value: one plan serves
/// every message size, element type and operator.
class Plan {
 public:
  /// Without ops and scratch. Throws Error(invalid_argument) for a request that is not valid, or a
  /// shape with a number below 1.
  Plan(Request request, Shape shape, std::string spec);

  [[nodiscard]] const Request& request() const { return request_; }
  /// How it cuts data, and its lanes.
  [[nodiscard]] const Shape& shape() const { return shape_; }
  /// Where it came from: an algorithm's canonical spec string, or a file's words.
  [[nodiscard]] const std::string& spec() const { return spec_; }

  [[nodiscard]] int ranks() const { return request_.ranks; }
  /// Chunks of the whole request.
  [[nodiscard]] int chunks() const { return block_count(request_) * shape_.chunks_per_block; }
  /// The block that a chunk is of.
  [[nodiscard]] int block_of(int chunk) const { return chunk / shape_.chunks_per_block; }

  /// The number of ops, each counted once, not per slice.
  [[nodiscard]] std::size_t size() const { return ops_.size(); }
  /// In listed order, from 0; its spans are valid until the plan is changed. Throws
  /// std::out_of_range.
  [[nodiscard]] Op op(std::size_t index) const;

  /// The rank's slots, by their number. Throws std::out_of_range.
  [[nodiscard]] std::span<const ScratchSlot> scratch(int rank) const {
    return scratch_.at(static_cast<std::size_t>(rank));
  }
  /// Whether any rank has a slot.
  [[nodiscard]] bool uses_scratch() const;

  /// Adds an op at the end of the list (the spans are copied).
  void append(const Op& op);
  /// Gives a rank one more scratch slot and returns its number.
  int add_slot(int rank, const ScratchSlot& slot);

  /// 64-bit FNV-1a of everything but the spec: two ranks that hold equal hashes run the same plan.
  [[nodiscard]] std::uint64_t hash() const;

 private:
  struct Record {
    int rank, lane, count;
    std::uint32_t first_location, sources, destinations;
  };
  Request request_;
  Shape shape_;
  std::string spec_;
  std::vector<std::vector<ScratchSlot>> scratch_;
  std::vector<Record> ops_;
  std::vector<Location> locations_;
};

/// What is wrong with a plan: one line, and where.
struct Fault {
  std::string message;              ///< names op, rank and chunk
  std::optional<std::size_t> op{};  ///< the op to blame, where one can be
  int rank = 0;                     ///< where it shows
  int chunk = 0;                    ///< and in which chunk
};

/// The first thing that is not well formed. Well formed: ranks, lanes, chunks and slots exist, the
/// buffers hold the chunks, all locations of an op name one chunk, no destination twice, and the
/// executing rank has a part in it. Says nothing about what the plan computes.
[[nodiscard]] std::optional<Fault> structure_fault(const Plan& plan);

/// Throws Error(bad_input) with structure_fault's message, rank and op, if there is one.
void check_structure(const Plan& plan);

/// "output[3] of rank 2", for messages.
[[nodiscard]] std::string describe(const Location& location);
/// "op 12 (rank 3: output[1] of rank 3 <- output[1] of rank 2 + input[1] of rank 3)".
[[nodiscard]] std::string describe(const Plan& plan, std::size_t index);

/// Numbers the distinct memory cells of a plan, a cell being one chunk's worth of memory, with the
/// aliasing of the placement applied: two locations have the same cell exactly if they are the same
/// memory. Requires a well-formed plan.
class Cells {
 public:
  /// Of the plan as it is now; does not refer to it.
  explicit Cells(const Plan& plan);
  /// Of a plan whose ops and slots come one at a time; so far without scratch. `chunks`: of the
  /// whole request.
  Cells(const Request& request, int chunks);

  /// Gives a rank its next scratch slot: new cells, after all others.
  void add_slot(int rank, const ScratchSlot& slot);
  /// How many scratch slots the rank has.
  [[nodiscard]] std::size_t slots(int rank) const {
    return slot_first_[static_cast<std::size_t>(rank)].size();
  }

  /// Cells of all ranks together; their numbers are below this.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The cell of the `offset`-th chunk from the location's.
  [[nodiscard]] std::size_t at(const Location& location, int offset = 0) const;
  /// Cells below this number are of inputs and outputs, the others of scratch.
  [[nodiscard]] std::size_t user_cells() const { return user_cells_; }
  /// Whether it is no caller's memory.
  [[nodiscard]] bool is_scratch(std::size_t cell) const { return cell >= user_cells_; }

 private:
  std::size_t chunks_;
  bool in_place_;
  std::size_t user_cells_;
  std::size_t size_;
  std::vector<std::vector<std::size_t>> slot_first_;  // [rank][slot]: cell of chunk 0, may wrap
};

}  // namespace ringside
