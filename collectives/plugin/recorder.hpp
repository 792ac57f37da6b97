// SPDX-License-Identifier: MIT
/// What a plug-in writes for one request: taken down through the C sink, and played back to a
/// group.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/collectives/builder.hpp"
#include "ringside/collectives/request.hpp"
#include "ringside/ringside_algorithm.h"

namespace ringside {

/// A plan as a plug-in writes it: locations may be running values, which only a group can place.
struct Recording {
  struct Shape {
    int chunks_per_block = 1, lanes = 1, unsliced_lanes = 1;
    bool operator==(const Shape&) const = default;
  };
  struct Slot {
    int rank, first_chunk, chunk_count;
    bool operator==(const Slot&) const = default;
  };
  struct Place {
    int rank, buffer, slot, chunk;
    bool operator==(const Place&) const = default;
  };
  struct Op {
    int rank, lane, count;
    std::uint32_t first_place, sources, destinations;  ///< places: sources, then destinations
    bool operator==(const Op&) const = default;
  };
  Shape shape;
  std::vector<Slot> slots;
  std::vector<Op> ops;
  std::vector<Place> places;
};

/// The first thing in which two recordings differ, in words; nothing if they are the same.
[[nodiscard]] std::optional<std::string> difference_of(const Recording& first,
                                                       const Recording& second);

/// The ops of a recording, with its ranks and chunks as numbered in the group.
[[nodiscard]] OpStream replay(Group g, std::shared_ptr<const Recording> recording);

/// The sink of one call of `build`. It refuses whatever does not exist in the request, and keeps
/// the first reason; what the plan computes it leaves to the prover.
class Recorder {
 public:
  explicit Recorder(const Request& request);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder() = default;

  [[nodiscard]] ringside_sink_v1& sink() { return sink_; }
  [[nodiscard]] bool has_shape() const { return has_shape_; }
  /// Why something was refused; empty if nothing was.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// What the plug-in explained last.
  [[nodiscard]] const std::string& explanation() const { return explanation_; }
  [[nodiscard]] Recording result() && { return std::move(recording_); }

 private:
  /// The C struct first, so that a pointer to it leads to the recorder.
  struct Sink : ringside_sink_v1 {
    Recorder* recorder = nullptr;
  };
  static Recorder& of(ringside_sink_v1* sink) { return *static_cast<Sink*>(sink)->recorder; }
  template <class Body>
  std::int32_t guarded(Body body) noexcept;

  std::int32_t set_shape(const ringside_shape_v1* shape);
  std::int32_t add_scratch(int rank, int first_chunk, int chunk_count);
  std::int32_t add_op(const ringside_op_v1* op);
  void add_places(std::string_view which, std::uint32_t count, const ringside_location_v1* places,
                  int chunks);
  void check_place(const ringside_location_v1& place, int chunks) const;
  void check_run(int rank, int first_chunk, int chunk_count) const;

  Request request_;
  Sink sink_;
  Recording recording_;
  std::vector<std::vector<std::size_t>> slots_of_;  // [rank]: numbers in recording_.slots
  int chunks_ = 0;                                  // of the whole request
  bool has_shape_ = false;
  std::string refusal_, explanation_;
};

}  // namespace ringside
