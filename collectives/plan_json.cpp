// SPDX-License-Identifier: MIT
/// Plans as JSON: written one op a line, read with limits.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ringside/base/error.hpp"
#include "ringside/base/json.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/plan_io.hpp"

namespace ringside {
namespace {

// A file may ask for no more than a machine can hold and a minute can prove; far above any plan
// that the prover accepts (256 ranks).
constexpr int most_ranks = 4096;
constexpr int most_lanes = 4096;
constexpr int most_slices = 1 << 20;
constexpr std::int64_t most_cells = std::int64_t{1} << 26;  // chunks in all buffers of all ranks
constexpr std::int64_t most_work = std::int64_t{1} << 28;   // chunks that the ops read and write
constexpr JsonLimits limits = {.bytes = std::size_t{128} << 20, .depth = 8, .values = 20'000'000};

void write_location(std::back_insert_iterator<std::string> out, const Location& location) {
  fmt::format_to(out, "[{}, \"{}\", {}", location.rank, to_string(location.buffer), location.chunk);
  if (location.buffer == Buffer::scratch) fmt::format_to(out, ", {}", location.slot);
  fmt::format_to(out, "]");
}

void write_locations(std::back_insert_iterator<std::string> out,
                     std::span<const Location> locations) {
  fmt::format_to(out, "[");
  for (std::size_t i = 0; i < locations.size(); ++i) {
    if (i > 0) fmt::format_to(out, ", ");
    write_location(out, locations[i]);
  }
  fmt::format_to(out, "]");
}

int number(const JsonValue& value, std::int64_t least, std::int64_t most) {
  return static_cast<int>(value.integer(least, most));
}

/// Reads a plan field by field; everything that it returns has been bounded, not yet checked.
class Reader {
 public:
  explicit Reader(const JsonValue& root) : root_(root) {}

  Plan read() {
    check_version();
    root_.only({"ringside_plan", "spec", "collective", "ranks", "root", "in_place",
                "chunks_per_block", "lanes", "slices", "depth", "scratch", "ops"});
    Plan plan = read_frame();
    cells_ = static_cast<std::int64_t>(plan.ranks()) * plan.chunks() * 2;
    check_cells(root_["chunks_per_block"]);
    read_scratch(plan);
    const auto ops = root_["ops"].items();
    for (const auto& op : ops) read_op(plan, op);
    if (const auto fault = structure_fault(plan)) {
      if (fault->op) ops[*fault->op].fail(fault->message);
      root_.fail(fault->message);
    }
    return plan;
  }

 private:
  void check_version() const {
    if (!root_.is_object() || !root_.find("ringside_plan"))
      root_.fail("this is no plan: it has no field \"ringside_plan\"");
    const JsonValue version = root_["ringside_plan"];
    if (version.integer() != plan_json_version)
      version.fail(fmt::format("version {} is not known: this library reads version {}",
                               version.integer(), plan_json_version));
  }

  Plan read_frame() const {
    Request request;
    const auto collective = parse_collective(root_["collective"].text());
    if (!collective)
      root_["collective"].fail(
          fmt::format("there is no collective {}", quote(root_["collective"].text())));
    request.collective = *collective;
    request.ranks = number(root_["ranks"], 1, most_ranks);
    request.root = number(root_["root"], 0, request.ranks - 1);
    request.in_place = root_["in_place"].boolean();
    Shape shape;
    shape.chunks_per_block = number(root_["chunks_per_block"], 1, most_foreign_chunks_per_block);
    shape.lanes = number(root_["lanes"], 1, most_lanes);
    shape.slices = number(root_["slices"], 1, most_slices);
    shape.depth = number(root_["depth"], 1, shape.slices);
    try {
      return Plan(request, shape, root_["spec"].text());
    } catch (const Error& error) {
      root_.fail(error.what());
    }
  }

  void check_cells(const JsonValue& blame) const {
    if (cells_ > most_cells)
      blame.fail(fmt::format("the buffers of all ranks would have {} chunks: at most {} are read",
                             cells_, most_cells));
  }

  void read_scratch(Plan& plan) {
    for (const auto& item : root_["scratch"].items()) {
      item.only({"rank", "slot", "first_chunk", "chunk_count", "place"});
      const int rank = number(item["rank"], 0, plan.ranks() - 1);
      const auto next = static_cast<int>(plan.scratch(rank).size());
      if (item["slot"].integer() != next)
        item["slot"].fail(
            fmt::format("expected {}: the slots of a rank are listed in order from 0", next));
      const int last = std::max(plan.chunks() - 1, 0);
      ScratchSlot slot;
      slot.first_chunk = number(item["first_chunk"], 0, last);
      slot.chunk_count = number(item["chunk_count"], 1, plan.chunks() - slot.first_chunk);
      slot.place = item["place"].choice({"device", "host"}) == 0 ? ScratchSlot::Place::device
                                                                 : ScratchSlot::Place::host;
      cells_ += slot.chunk_count;
      check_cells(item);
      plan.add_slot(rank, slot);
    }
  }

  void read_op(Plan& plan, const JsonValue& item) {
    item.only({"rank", "lane", "count", "sources", "destinations"});
    read_locations(plan, item["sources"], sources_);
    read_locations(plan, item["destinations"], destinations_);
    Op op;
    op.rank = number(item["rank"], 0, plan.ranks() - 1);
    op.lane = number(item["lane"], 0, plan.shape().lanes - 1);
    op.count = number(item["count"], 1, std::max(plan.chunks(), 1));
    op.sources = sources_;
    op.destinations = destinations_;
    work_ += static_cast<std::int64_t>(sources_.size() + destinations_.size()) * op.count;
    if (work_ > most_work)
      item.fail(fmt::format("the ops up to here move more than {} chunks", most_work));
    plan.append(op);
  }

  static void read_locations(const Plan& plan, const JsonValue& list,
                             std::vector<Location>& locations) {
    locations.clear();
    (void)list.size(1, most_foreign_locations);
    for (const auto& item : list.items()) {
      const auto size = item.size(3, 4);
      const auto parts = item.items();
      Location location;
      location.rank = number(parts[0], 0, plan.ranks() - 1);
      location.buffer = static_cast<Buffer>(parts[1].choice({"input", "output", "scratch"}));
      location.chunk = number(parts[2], 0, std::max(plan.chunks() - 1, 0));
      const bool scratch = location.buffer == Buffer::scratch;
      if (scratch != (size == 4))
        item.fail(scratch ? "a scratch location is [rank, \"scratch\", chunk, slot]"
                          : "an input or output location is [rank, buffer, chunk]");
      if (scratch)
        location.slot =
            number(parts[3], 0, static_cast<std::int64_t>(most_foreign_locations) * most_ranks);
      locations.push_back(location);
    }
  }

  JsonValue root_;
  std::int64_t cells_ = 0;
  std::int64_t work_ = 0;
  std::vector<Location> sources_, destinations_;
};

}  // namespace

std::string plan_to_json(const Plan& plan) {
  std::string text;
  const auto out = std::back_inserter(text);
  const auto& request = plan.request();
  const auto& shape = plan.shape();
  const std::string spec(trim(dump_json(plan.spec(), -1)));
  fmt::format_to(out,
                 "{{\"ringside_plan\": {}, \"spec\": {}, \"collective\": \"{}\", \"ranks\": {}, "
                 "\"root\": {},\n",
                 plan_json_version, spec, to_string(request.collective), request.ranks,
                 request.root);
  fmt::format_to(out,
                 " \"in_place\": {}, \"chunks_per_block\": {}, \"lanes\": {}, \"slices\": {}, "
                 "\"depth\": {},\n \"scratch\": [",
                 request.in_place, shape.chunks_per_block, shape.lanes, shape.slices, shape.depth);
  const char* joint = "\n";
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const auto slots = plan.scratch(rank);
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      fmt::format_to(out,
                     "{}  {{\"rank\": {}, \"slot\": {}, \"first_chunk\": {}, \"chunk_count\": {}, "
                     "\"place\": \"{}\"}}",
                     joint, rank, slot, slots[slot].first_chunk, slots[slot].chunk_count,
                     slots[slot].place == ScratchSlot::Place::device ? "device"
                     : slots[slot].place == ScratchSlot::Place::host ? "host"
                                                                     : "wire");
      joint = ",\n";
    }
  }
  fmt::format_to(out, "],\n \"ops\": [");
  joint = "\n";
  for (std::size_t index = 0; index < plan.size(); ++index) {
    const Op op = plan.op(index);
    fmt::format_to(out, "{}  {{\"rank\": {}, \"lane\": {}, \"count\": {}, \"sources\": ", joint,
                   op.rank, op.lane, op.count);
    write_locations(out, op.sources);
    fmt::format_to(out, ", \"destinations\": ");
    write_locations(out, op.destinations);
    fmt::format_to(out, "}}");
    joint = ",\n";
  }
  text += "]}\n";
  return text;
}

Plan plan_from_json(std::string_view text, const std::string& name) {
  const JsonDocument document(text, name, limits);
  return Reader(document.root()).read();
}

}  // namespace ringside
