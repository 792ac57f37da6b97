// SPDX-License-Identifier: MIT
#include "ringside/collectives/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

constexpr int max_locations_of_an_op = 65536;

std::string place(const Location& location) {
  if (location.buffer == Buffer::scratch)
    return fmt::format("scratch {}[{}] of rank {}", location.slot, location.chunk, location.rank);
  return fmt::format("{}[{}] of rank {}", to_string(location.buffer), location.chunk,
                     location.rank);
}

/// Nothing, or what is wrong with a location that `count` chunks start at.
std::string fault_of(const Plan& plan, const Location& location, int count) {
  if (location.rank < 0 || location.rank >= plan.ranks())
    return fmt::format("there is no rank {}: ranks are 0 to {}", location.rank, plan.ranks() - 1);
  if (location.chunk < 0 || location.chunk >= plan.chunks() ||
      count > plan.chunks() - location.chunk)
    return fmt::format("chunks {} to {} do not exist: chunks are 0 to {}", location.chunk,
                       static_cast<long>(location.chunk) + count - 1, plan.chunks() - 1);
  if (location.buffer == Buffer::scratch) {
    const auto slots = plan.scratch(location.rank);
    if (location.slot < 0 || location.slot >= static_cast<int>(slots.size()))
      return fmt::format("rank {} has no scratch slot {}", location.rank, location.slot);
    const auto& slot = slots[static_cast<std::size_t>(location.slot)];
    if (location.chunk < slot.first_chunk ||
        location.chunk + count > slot.first_chunk + slot.chunk_count)
      return fmt::format("scratch slot {} of rank {} holds chunks {} to {}, not {}", location.slot,
                         location.rank, slot.first_chunk, slot.first_chunk + slot.chunk_count - 1,
                         location.chunk);
    return {};
  }
  const auto blocks = blocks_in(plan.request(), location.rank, location.buffer);
  for (int chunk = location.chunk; chunk < location.chunk + count; ++chunk)
    if (!blocks.contains(plan.block_of(chunk)))
      return fmt::format("{} of rank {} does not hold chunk {}", to_string(location.buffer),
                         location.rank, chunk);
  return {};
}

/// Nothing, or what is wrong with an op.
std::string words_of_op(const Plan& plan, const Op& op) {
  if (op.rank < 0 || op.rank >= plan.ranks()) return fmt::format("there is no rank {}", op.rank);
  if (op.lane < 0 || op.lane >= plan.shape().lanes)
    return fmt::format("lane {} does not exist: the plan has {} lanes", op.lane,
                       plan.shape().lanes);
  if (op.count < 1) return fmt::format("it covers {} chunks", op.count);
  if (op.sources.empty()) return "it reads nothing";
  if (op.destinations.empty()) return "it stores nowhere";

  bool takes_part = false;
  for (const auto& locations : {op.sources, op.destinations})
    for (const auto& location : locations) {
      if (auto fault = fault_of(plan, location, op.count); !fault.empty()) return fault;
      if (location.chunk != op.chunk())
        return fmt::format("{} is not of chunk {}, which it works on", place(location), op.chunk());
      takes_part = takes_part || location.rank == op.rank;
    }
  if (!takes_part)
    return fmt::format("rank {} executes it, but none of its data is there", op.rank);

  for (std::size_t i = 0; i < op.destinations.size(); ++i)
    for (std::size_t j = i + 1; j < op.destinations.size(); ++j)
      if (op.destinations[i] == op.destinations[j])
        return fmt::format("it stores twice to {}", place(op.destinations[i]));
  return {};
}

std::optional<Fault> fault_of_op(const Plan& plan, std::size_t index) {
  const Op op = plan.op(index);
  const auto words = words_of_op(plan, op);
  if (words.empty()) return std::nullopt;
  const int chunk = !op.sources.empty()        ? op.chunk()
                    : !op.destinations.empty() ? op.destinations.front().chunk
                                               : 0;
  return Fault{fmt::format("op {} (rank {}, chunk {}): {}", index, op.rank, chunk, words), index,
               op.rank, chunk};
}

std::optional<Fault> fault_of_shape(const Plan& plan) {
  const auto& shape = plan.shape();
  for (int rank = 0; rank < plan.ranks(); ++rank)
    for (const auto& slot : plan.scratch(rank))
      if (slot.first_chunk < 0 || slot.chunk_count < 1 || slot.first_chunk >= plan.chunks() ||
          slot.chunk_count > plan.chunks() - slot.first_chunk)
        return Fault{
            fmt::format("a scratch slot of rank {} holds chunks {} to {}: chunks are 0 to {}", rank,
                        slot.first_chunk,
                        static_cast<long>(slot.first_chunk) + slot.chunk_count - 1,
                        plan.chunks() - 1),
            std::nullopt, rank, slot.first_chunk};
  if (shape.depth > shape.slices)
    return Fault{
        fmt::format("scratch of {} slices for a plan of {} slices", shape.depth, shape.slices),
        std::nullopt, 0, 0};
  return std::nullopt;
}

class Fnv {
 public:
  void add(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      state_ ^= (value >> (8 * byte)) & 0xff;
      state_ *= 0x100000001b3ULL;
    }
  }
  void add(const Location& location) {
    add(static_cast<std::uint64_t>(location.rank) << 8 |
        static_cast<std::uint64_t>(location.buffer));
    add(static_cast<std::uint64_t>(location.slot) << 32 |
        static_cast<std::uint64_t>(location.chunk));
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace

Plan::Plan(Request request, Shape shape, std::string spec)
    : request_(request), shape_(shape), spec_(std::move(spec)) {
  validate(request_);
  const auto check = [](int value, const char* what) {
    if (value < 1)
      throw Error(ErrorCode::invalid_argument, fmt::format("a plan with {} {}", value, what));
  };
  check(shape_.chunks_per_block, "chunks per block");
  check(shape_.lanes, "lanes");
  check(shape_.slices, "slices");
  check(shape_.depth, "slices of scratch");
  if (static_cast<long>(block_count(request_)) * shape_.chunks_per_block >
      std::numeric_limits<int>::max() / 2)
    throw Error(ErrorCode::invalid_argument, "a plan with more chunks than can be numbered");
  scratch_.resize(static_cast<std::size_t>(request_.ranks));
}

Op Plan::op(std::size_t index) const {
  const Record& record = ops_.at(index);
  const auto* first = locations_.data() + record.first_location;
  return {record.rank,
          record.lane,
          record.count,
          {first, record.sources},
          {first + record.sources, record.destinations}};
}

bool Plan::uses_scratch() const {
  return std::any_of(scratch_.begin(), scratch_.end(), [](const auto& s) { return !s.empty(); });
}

void Plan::append(const Op& op) {
  if (op.sources.size() > max_locations_of_an_op ||
      op.destinations.size() > max_locations_of_an_op ||
      locations_.size() + op.sources.size() + op.destinations.size() >
          std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorCode::unsupported, "a plan with more locations than can be stored");
  ops_.push_back({op.rank, op.lane, op.count, static_cast<std::uint32_t>(locations_.size()),
                  static_cast<std::uint32_t>(op.sources.size()),
                  static_cast<std::uint32_t>(op.destinations.size())});
  // Copied first: the op may be one of this plan, whose locations move when the list grows.
  std::vector<Location> added(op.sources.begin(), op.sources.end());
  added.insert(added.end(), op.destinations.begin(), op.destinations.end());
  locations_.insert(locations_.end(), added.begin(), added.end());
}

int Plan::add_slot(int rank, const ScratchSlot& slot) {
  auto& slots = scratch_.at(static_cast<std::size_t>(rank));
  slots.push_back(slot);
  return static_cast<int>(slots.size()) - 1;
}

std::uint64_t Plan::hash() const {
  Fnv fnv;
  for (const int value : {static_cast<int>(request_.collective), request_.ranks, request_.root,
                          static_cast<int>(request_.in_place), shape_.chunks_per_block,
                          shape_.lanes, shape_.slices, shape_.depth})
    fnv.add(static_cast<std::uint64_t>(value));
  for (const auto& slots : scratch_) {
    fnv.add(slots.size());
    for (const auto& slot : slots) {
      fnv.add(static_cast<std::uint64_t>(slot.first_chunk) << 32 |
              static_cast<std::uint64_t>(slot.chunk_count));
      fnv.add(static_cast<std::uint64_t>(slot.place));
    }
  }
  for (const auto& record : ops_)
    for (const auto value :
         {static_cast<std::uint32_t>(record.rank), static_cast<std::uint32_t>(record.lane),
          static_cast<std::uint32_t>(record.count), record.sources, record.destinations})
      fnv.add(value);
  for (const auto& location : locations_) fnv.add(location);
  return fnv.value();
}

std::optional<Fault> structure_fault(const Plan& plan) {
  if (auto fault = fault_of_shape(plan)) return fault;
  for (std::size_t index = 0; index < plan.size(); ++index)
    if (auto fault = fault_of_op(plan, index)) return fault;
  return std::nullopt;
}

void check_structure(const Plan& plan) {
  const auto fault = structure_fault(plan);
  if (!fault) return;
  Error error(ErrorCode::bad_input, fault->message);
  error.at_rank(fault->rank);
  if (fault->op) error.at_step(static_cast<int>(*fault->op));
  throw error;
}

std::string describe(const Location& location) { return place(location); }

std::string describe(const Plan& plan, std::size_t index) {
  const Op op = plan.op(index);
  constexpr std::size_t shown = 4;  // enough to recognise the op; one_shot of 64 ranks has 64
  const auto list = [](std::span<const Location> locations, std::string_view joint) {
    std::string text;
    for (std::size_t i = 0; i < locations.size() && i < shown; ++i)
      text += (i > 0 ? std::string(joint) : "") + place(locations[i]);
    if (locations.size() > shown) text += fmt::format("{}... ({})", joint, locations.size());
    return text;
  };
  return fmt::format("op {} (rank {}: {} <- {})", index, op.rank, list(op.destinations, ", "),
                     list(op.sources, " + "));
}

Cells::Cells(const Plan& plan) : Cells(plan.request(), plan.chunks()) {
  for (int rank = 0; rank < plan.ranks(); ++rank)
    for (const auto& slot : plan.scratch(rank)) add_slot(rank, slot);
}

Cells::Cells(const Request& request, int chunks)
    : chunks_(static_cast<std::size_t>(chunks)),
      in_place_(request.in_place),
      user_cells_(static_cast<std::size_t>(request.ranks) * chunks_ * (in_place_ ? 1 : 2)),
      size_(user_cells_),
      slot_first_(static_cast<std::size_t>(request.ranks)) {}

void Cells::add_slot(int rank, const ScratchSlot& slot) {
  slot_first_[static_cast<std::size_t>(rank)].push_back(size_ -
                                                        static_cast<std::size_t>(slot.first_chunk));
  size_ += static_cast<std::size_t>(slot.chunk_count);
}

std::size_t Cells::at(const Location& location, int offset) const {
  const auto rank = static_cast<std::size_t>(location.rank);
  const auto chunk = static_cast<std::size_t>(location.chunk + offset);
  if (location.buffer == Buffer::scratch)
    return slot_first_[rank][static_cast<std::size_t>(location.slot)] + chunk;
  const std::size_t half =
      location.buffer == Buffer::output && !in_place_ ? user_cells_ / 2 : std::size_t{0};
  return half + rank * chunks_ + chunk;
}

}  // namespace ringside
