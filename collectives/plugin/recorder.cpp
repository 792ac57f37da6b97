// SPDX-License-Identifier: MIT
#include "ringside/collectives/plugin/recorder.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/outside.hpp"

namespace ringside {
namespace {

// What a build may ask for, beside most_run_locations: more than the prover accepts.
constexpr std::size_t most_slots = std::size_t{1} << 20;
constexpr std::size_t longest_explanation = 500;

/// A fault in what the plug-in passed; ends the call, not the process.
[[noreturn]] void fault(const std::string& why) { throw Error(ErrorCode::bad_input, why); }

std::string_view name_of(int buffer) {
  constexpr std::array<std::string_view, 4> names = {"input", "output", "scratch", "running"};
  return names.at(static_cast<std::size_t>(buffer));
}

std::string describe(const Recording::Place& place) {
  if (place.buffer == RINGSIDE_SCRATCH)
    return fmt::format("scratch {}[{}] of rank {}", place.slot, place.chunk, place.rank);
  return fmt::format("{}[{}] of rank {}", name_of(place.buffer), place.chunk, place.rank);
}

/// "rank 1, lane 0: output[1] of rank 1 <- running[1] of rank 0 + input[1] of rank 1".
std::string describe(const Recording& recording, const Recording::Op& op) {
  constexpr std::uint32_t most = 4;  // of each list
  std::string text = fmt::format("rank {}, lane {}", op.rank, op.lane);
  if (op.count > 1) text += fmt::format(", {} chunks", op.count);
  const auto list = [&](std::uint32_t first, std::uint32_t count, std::string_view joint) {
    for (std::uint32_t i = 0; i < count && i < most; ++i)
      text += fmt::format("{}{}", i == 0 ? "" : joint, describe(recording.places[first + i]));
    if (count > most) text += fmt::format("{}...", joint);
  };
  text += ": ";
  list(op.first_place + op.sources, op.destinations, ", ");
  text += " <- ";
  list(op.first_place, op.sources, " + ");
  return text;
}

bool same_op(const Recording& a, const Recording& b, std::size_t index) {
  const auto& x = a.ops[index];
  const auto& y = b.ops[index];
  return x == y && std::equal(a.places.begin() + x.first_place,
                              a.places.begin() + x.first_place + x.sources + x.destinations,
                              b.places.begin() + y.first_place);
}

}  // namespace

std::optional<std::string> difference_of(const Recording& first, const Recording& second) {
  const auto differ = [](const char* what, auto a, auto b) {
    return fmt::format("{} {}, then {}", a, what, b);
  };
  if (first.shape != second.shape)
    return fmt::format("{} chunks and {} lanes, then {} chunks and {} lanes",
                       first.shape.chunks_per_block, first.shape.lanes,
                       second.shape.chunks_per_block, second.shape.lanes);
  for (std::size_t i = 0; i < std::min(first.ops.size(), second.ops.size()); ++i)
    if (!same_op(first, second, i))
      return fmt::format("op {} was ({}), then ({})", i, describe(first, first.ops[i]),
                         describe(second, second.ops[i]));
  if (first.ops.size() != second.ops.size())
    return differ("ops", first.ops.size(), second.ops.size());
  if (first.slots != second.slots)
    return first.slots.size() != second.slots.size()
               ? differ("scratch slots", first.slots.size(), second.slots.size())
               : std::string("other scratch");
  return std::nullopt;
}

OpStream replay(Group g, std::shared_ptr<const Recording> recording) {
  std::vector<std::vector<int>> slots(static_cast<std::size_t>(g.ranks()));
  for (const auto& slot : recording->slots)
    slots[static_cast<std::size_t>(slot.rank)].push_back(
        g.new_slot(slot.rank, slot.first_chunk, slot.chunk_count));
  const auto locate = [&](const Recording::Place& place, int count, bool stores) {
    switch (place.buffer) {
      case RINGSIDE_INPUT:
        return g.input(place.rank, place.chunk);
      case RINGSIDE_OUTPUT:
        return g.output(place.rank, place.chunk);
      case RINGSIDE_SCRATCH:
        return g.scratch(
            place.rank,
            slots[static_cast<std::size_t>(place.rank)][static_cast<std::size_t>(place.slot)],
            place.chunk);
      default:
        return stores ? g.next(place.rank, place.chunk, count) : g.cur(place.rank, place.chunk);
    }
  };
  std::vector<Location> sources, destinations;
  for (const auto& op : recording->ops) {
    sources.clear();
    destinations.clear();
    for (std::uint32_t i = 0; i < op.sources + op.destinations; ++i) {
      const bool stores = i >= op.sources;
      (stores ? destinations : sources)
          .push_back(locate(recording->places[op.first_place + i], op.count, stores));
    }
    const Group on_lane = g.on_lane(op.lane);
    co_yield on_lane.op(op.rank, sources, destinations, op.count);
  }
}

Recorder::Recorder(const Request& request)
    : request_(request), slots_of_(static_cast<std::size_t>(request.ranks)) {
  sink_.size = sizeof(ringside_sink_v1);
  sink_.version = RINGSIDE_ALGORITHM_VERSION;
  sink_.recorder = this;
  sink_.set_shape = [](ringside_sink_v1* sink, const ringside_shape_v1* shape) {
    return of(sink).guarded([&] { return of(sink).set_shape(shape); });
  };
  sink_.add_scratch = [](ringside_sink_v1* sink, std::int32_t rank, std::int32_t first,
                         std::int32_t count) {
    return of(sink).guarded([&] { return of(sink).add_scratch(rank, first, count); });
  };
  sink_.add_op = [](ringside_sink_v1* sink, const ringside_op_v1* op) {
    return of(sink).guarded([&] { return of(sink).add_op(op); });
  };
  sink_.explain = [](ringside_sink_v1* sink, const char* reason) {
    (void)of(sink).guarded([&] {
      if (reason != nullptr)
        of(sink).explanation_.assign(reason, strnlen(reason, longest_explanation));
      return 0;
    });
  };
}

/// No exception crosses the plug-in's frames.
template <class Body>
std::int32_t Recorder::guarded(Body body) noexcept {
  constexpr std::int32_t refused = -1;
  if (!refusal_.empty()) return refused;
  try {
    return body();
  } catch (const std::exception& error) {
    try {
      refusal_ = error.what();
    } catch (...) {
      has_shape_ = false;  // no memory for words: refused all the same
    }
    return refused;
  }
}

std::int32_t Recorder::set_shape(const ringside_shape_v1* shape) {
  if (has_shape_) fault("set_shape is called twice");
  if (shape == nullptr) fault("set_shape is given NULL");
  if (shape->size < sizeof(ringside_shape_v1))
    fault(fmt::format("set_shape is given a struct of {} bytes: version {} has {}", shape->size,
                      RINGSIDE_ALGORITHM_VERSION, sizeof(ringside_shape_v1)));
  const int blocks = block_count(request_);
  const int most_chunks = std::min(most_foreign_chunks_per_block,
                                   std::numeric_limits<int>::max() / 2 / std::max(blocks, 1));
  if (shape->chunks_per_block < 1 || shape->chunks_per_block > most_chunks)
    fault(fmt::format("{} chunks per block: 1 to {} are possible", shape->chunks_per_block,
                      most_chunks));
  for (const int lanes : {shape->lanes, shape->unsliced_lanes})
    if (lanes < 1 || lanes > most_lanes)
      fault(fmt::format("{} lanes: 1 to {} are possible", lanes, most_lanes));
  recording_.shape = {shape->chunks_per_block, shape->lanes, shape->unsliced_lanes};
  chunks_ = blocks * shape->chunks_per_block;
  has_shape_ = true;
  return 0;
}

void Recorder::check_run(int rank, int first_chunk, int chunk_count) const {
  if (!has_shape_) fault("set_shape must be called first");
  if (rank < 0 || rank >= request_.ranks)
    fault(fmt::format("there is no rank {}: ranks are 0 to {}", rank, request_.ranks - 1));
  if (first_chunk < 0 || chunk_count < 1 || first_chunk >= chunks_ ||
      chunk_count > chunks_ - first_chunk)
    fault(fmt::format("{} chunks from chunk {}: chunks are 0 to {}", chunk_count, first_chunk,
                      chunks_ - 1));
}

std::int32_t Recorder::add_scratch(int rank, int first_chunk, int chunk_count) {
  try {
    check_run(rank, first_chunk, chunk_count);
  } catch (const Error& error) {
    fault(fmt::format("add_scratch: {}", error.what()));
  }
  if (recording_.slots.size() >= most_slots)
    fault(fmt::format("add_scratch: more than {} slots", most_slots));
  auto& slots = slots_of_[static_cast<std::size_t>(rank)];
  slots.push_back(recording_.slots.size());
  recording_.slots.push_back({rank, first_chunk, chunk_count});
  return static_cast<std::int32_t>(slots.size()) - 1;
}

void Recorder::check_place(const ringside_location_v1& place, int chunks) const {
  check_run(place.rank, place.chunk, chunks);
  if (place.buffer < RINGSIDE_INPUT || place.buffer > RINGSIDE_RUNNING)
    fault(fmt::format("there is no buffer {}", place.buffer));
  if (place.buffer != RINGSIDE_SCRATCH) {
    if (place.slot != 0) fault(fmt::format("slot {} of what is no scratch", place.slot));
    return;
  }
  const auto& slots = slots_of_[static_cast<std::size_t>(place.rank)];
  if (place.slot < 0 || place.slot >= static_cast<int>(slots.size()))
    fault(fmt::format("rank {} has no scratch slot {}", place.rank, place.slot));
  const auto& slot = recording_.slots[slots[static_cast<std::size_t>(place.slot)]];
  if (place.chunk < slot.first_chunk || place.chunk + chunks > slot.first_chunk + slot.chunk_count)
    fault(fmt::format("scratch slot {} of rank {} holds chunks {} to {}, not {} from {}",
                      place.slot, place.rank, slot.first_chunk,
                      slot.first_chunk + slot.chunk_count - 1, chunks, place.chunk));
}

void Recorder::add_places(std::string_view which, std::uint32_t count,
                          const ringside_location_v1* places, int chunks) {
  if (count < 1 || count > most_foreign_locations)
    fault(fmt::format("it has {} {}: 1 to {} are possible", count, which, most_foreign_locations));
  if (places == nullptr) fault(fmt::format("its {} are NULL", which));
  if (count > most_run_locations - recording_.places.size())
    fault(fmt::format("the ops up to here have more than {} locations", most_run_locations));
  for (std::uint32_t i = 0; i < count; ++i) {
    check_place(places[i], chunks);
    recording_.places.push_back(
        {places[i].rank, places[i].buffer, places[i].slot, places[i].chunk});
  }
}

std::int32_t Recorder::add_op(const ringside_op_v1* op) {
  try {
    if (op == nullptr) fault("it is NULL");
    if (op->size < sizeof(ringside_op_v1))
      fault(fmt::format("it is a struct of {} bytes: version {} has {}", op->size,
                        RINGSIDE_ALGORITHM_VERSION, sizeof(ringside_op_v1)));
    if (!has_shape_) fault("set_shape must be called first");
    if (op->rank < 0 || op->rank >= request_.ranks)
      fault(fmt::format("there is no rank {}: ranks are 0 to {}", op->rank, request_.ranks - 1));
    if (op->lane < 0 || op->lane >= recording_.shape.lanes)
      fault(fmt::format("there is no lane {}: the shape has {}", op->lane, recording_.shape.lanes));
    const auto first = static_cast<std::uint32_t>(recording_.places.size());
    add_places("sources", op->source_count, op->sources, op->count);
    add_places("destinations", op->destination_count, op->destinations, op->count);
    recording_.ops.push_back(
        {op->rank, op->lane, op->count, first, op->source_count, op->destination_count});
  } catch (const Error& error) {
    fault(fmt::format("op {}: {}", recording_.ops.size(), error.what()));
  }
  return 0;
}

}  // namespace ringside
