// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/predict.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace ringside {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Of a resource with a single flow on it: it never has more to give.
double best_capacity(const Resource& resource) {
  return resource.capacity * (resource.efficiency.empty() ? 1 : resource.efficiency.front());
}

}  // namespace

/// Finds the paths of ops.
class MappedPlan::Finder {
 public:
  Finder(const Machine& machine, std::span<const int> gpus, const Plan& plan)
      : machine_(machine), gpus_(gpus), plan_(plan) {}

  int path_of(const Op& op, std::vector<Path>& paths) {
    key_ = {op.rank, static_cast<int>(op.sources.size())};
    for (const auto locations : {op.sources, op.destinations}) {
      const auto first = static_cast<std::ptrdiff_t>(key_.size());
      for (const Location& location : locations)
        key_.push_back(location.rank * 2 + (at_host(location) ? 1 : 0));
      std::sort(key_.begin() + first, key_.end());  // what is folded first takes no more time
    }
    const auto [found, added] = known_.try_emplace(key_, static_cast<int>(paths.size()));
    if (added) paths.push_back(work_out(op));
    return found->second;
  }

 private:
  [[nodiscard]] bool at_host(const Location& location) const {
    return location.buffer == Buffer::scratch &&
           plan_.scratch(location.rank)[static_cast<std::size_t>(location.slot)].place ==
               ScratchSlot::Place::host;
  }
  [[nodiscard]] Place place_of(const Location& location) const {
    return {gpus_[static_cast<std::size_t>(location.rank)], at_host(location)};
  }

  [[nodiscard]] Path work_out(const Op& op) const {
    const int gpu = gpus_[static_cast<std::size_t>(op.rank)];
    const bool is_copy = op.sources.size() == 1 && op.destinations.size() == 1;
    const Mover mover = is_copy ? machine_.mover() : Mover::kernel;
    const Overheads& overheads = machine_.overheads();
    Path path{.uses = {}, .overhead = mover == Mover::kernel ? overheads.op : overheads.copy_op};
    std::map<ResourceId, double> weights;
    double reads = 0, writes = 0;
    const auto add = [&](const Way& way, double& latency) {
      for (const Use& use : way.uses) weights[use.resource] += use.weight;
      latency = std::max(latency, way.latency);
    };
    for (const Location& from : op.sources) add(machine_.read(place_of(from), gpu, mover), reads);
    for (const Location& to : op.destinations)
      add(machine_.write(gpu, place_of(to), mover), writes);
    path.latency = reads + writes;
    for (const auto& [resource, weight] : weights) {
      path.uses.push_back({resource, weight});
      const auto& has = machine_.resources()[static_cast<std::size_t>(resource)];
      path.seconds_per_byte = std::max(path.seconds_per_byte, weight / best_capacity(has));
    }
    return path;
  }

  const Machine& machine_;
  std::span<const int> gpus_;
  const Plan& plan_;
  std::vector<int> key_;
  std::map<std::vector<int>, int> known_;
};

/// The state of a pass over the ops.
struct MappedPlan::Times {
  /// When an op that touched a cell ended, and in which stream it was.
  struct Touch {
    double end = 0;
    int stream = -1;

    /// When an op of `by` sees that: of another stream it is waited for.
    [[nodiscard]] double seen_by(int by, double wait) const {
      return stream == by || stream < 0 ? end : end + wait;
    }
  };

  Times(const MappedPlan& plan, int slices_wanted, int depth_wanted)
      : slices(slices_wanted),
        depth(depth_wanted),
        streams(plan.streams_, 0),
        written(plan.cells_ + (plan.cells_ - plan.user_cells_) * static_cast<std::size_t>(depth)),
        read(written.size()),
        head(plan.paths_.size(), never),
        tail(plan.paths_.size(), never),
        bytes(plan.paths_.size(), 0) {}

  void begin(double now) {
    std::fill(streams.begin(), streams.end(), now);
    std::fill(written.begin(), written.end(), Touch{now});
    std::fill(read.begin(), read.end(), Touch{now});
  }
  /// Memory of the call's is new in each slice.
  void begin_slice(std::size_t user_cells, double now) {
    std::fill_n(written.begin(), user_cells, Touch{now});
    std::fill_n(read.begin(), user_cells, Touch{now});
  }
  /// How long chunks are in this slice: those of a block before number `longer` have an element
  /// more.
  void cut(const CallSize& size, int chunks_per_block, int slice) {
    parts = static_cast<std::size_t>(chunks_per_block);
    longer = size.block_elements % parts;
    const std::size_t length = size.block_elements / parts;
    const auto bytes_in = [&](std::size_t elements) {
      return static_cast<double>(
          part_of(elements, static_cast<std::size_t>(slices), static_cast<std::size_t>(slice))
              .length *
          size.element_bytes);
    };
    short_bytes = bytes_in(length);
    long_bytes = bytes_in(length + 1);
  }
  /// Bytes of consecutive chunks.
  [[nodiscard]] double bytes_of(int chunk, int count) const {
    if (longer == 0) return count * short_bytes;
    double sum = 0;
    for (int i = 0; i < count; ++i)
      sum += static_cast<std::size_t>(chunk + i) % parts < longer ? long_bytes : short_bytes;
    return sum;
  }

  int slices, depth;
  std::size_t parts = 1, longer = 0;
  double short_bytes = 0, long_bytes = 0;
  bool without_bytes = false;        // ops take what they take beside moving bytes
  std::vector<double> streams;       // when each is free again
  std::vector<Touch> written, read;  // by cell: who did so last
  // By path: when its first transfer begins, what is left after its last, and what it moves.
  std::vector<double> head, tail, bytes;
};

MappedPlan::MappedPlan(const Machine& machine, std::span<const int> gpus, const Plan& plan)
    : machine_(&machine), chunks_per_block_(plan.shape().chunks_per_block) {
  const Cells cells(plan);
  cells_ = cells.size();
  user_cells_ = cells.user_cells();
  streams_ = static_cast<std::size_t>(plan.ranks() * plan.shape().lanes);
  Finder finder(machine, gpus, plan);
  ops_.reserve(plan.size());
  for (std::size_t index = 0; index < plan.size(); ++index) {
    const Op op = plan.op(index);
    MappedOp mapped{.stream = op.rank * plan.shape().lanes + op.lane,
                    .path = finder.path_of(op, paths_),
                    .chunk = op.chunk(),
                    .count = op.count,
                    .first_cell = static_cast<std::uint32_t>(cell_list_.size())};
    const auto add = [&](std::span<const Location> locations) {
      const auto first = static_cast<std::ptrdiff_t>(cell_list_.size());
      for (const Location& location : locations)
        for (int offset = 0; offset < op.count; ++offset)
          cell_list_.push_back(static_cast<std::uint32_t>(cells.at(location, offset)));
      std::sort(cell_list_.begin() + first, cell_list_.end());
      return static_cast<std::uint32_t>(locations.size() * static_cast<std::size_t>(op.count));
    };
    mapped.sources = add(op.sources);
    mapped.destinations = add(op.destinations);
    ops_.push_back(mapped);
  }
  add_loads();
}

bool MappedPlan::operator==(const MappedPlan& other) const {
  return chunks_per_block_ == other.chunks_per_block_ && streams_ == other.streams_ &&
         paths_ == other.paths_ && ops_ == other.ops_ && cell_list_ == other.cell_list_;
}

std::uint64_t MappedPlan::hash() const {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  const auto add = [&](std::size_t value) { hash = (hash ^ value) * 0x100000001b3U; };
  add(streams_);
  for (const MappedOp& op : ops_)
    for (const int value : {op.stream, op.path, op.chunk, op.count})
      add(static_cast<std::size_t>(value));
  for (const std::uint32_t cell : cell_list_) add(cell);
  return hash;
}

double MappedPlan::without_bytes(int slices, int depth) const {
  Times times(*this, slices, depth);
  times.without_bytes = true;
  double last = 0;
  for (int slice = 0; slice < slices; ++slice) last = std::max(last, pass(times, slice));
  return last;
}

/// What holds for any size and slicing: the passes of a call without bytes.
void MappedPlan::add_loads() {
  Times times(*this, 1, 1);
  times.without_bytes = true;
  steps_ = pass(times, 0);
  pass_back(times);
  std::vector<double> shares(paths_.size(), 0);
  for (const MappedOp& op : ops_) shares[static_cast<std::size_t>(op.path)] += op.count;
  std::map<ResourceId, Load> loads;
  for (std::size_t path = 0; path < paths_.size(); ++path)
    for (const Use& use : paths_[path].uses) {
      Load& load =
          loads.try_emplace(use.resource, Load{use.resource, 0, never, never}).first->second;
      const auto& has = machine_->resources()[static_cast<std::size_t>(use.resource)];
      load.seconds_per_share += shares[path] * use.weight / best_capacity(has);
      load.head = std::min(load.head, times.head[path]);
      load.tail = std::min(load.tail, times.tail[path]);
    }
  for (const auto& [resource, load] : loads) loads_.push_back(load);
}

/// Runs a slice of all ops, each as soon as those before it allow. Returns the end of the last.
double MappedPlan::pass(Times& times, int slice) const {
  const Overheads& overheads = machine_->overheads();
  if (slice == 0) times.begin(overheads.call);
  times.begin_slice(user_cells_, overheads.call);
  // Scratch cells have `depth` places, which slices take in turn.
  const std::size_t shift = (cells_ - user_cells_) * static_cast<std::size_t>(slice % times.depth);
  const auto place = [&](std::uint32_t cell) { return cell < user_cells_ ? cell : cell + shift; };
  double last = overheads.call;
  for (const MappedOp& op : ops_) {
    const double bytes = times.bytes_of(op.chunk, op.count);
    const auto path = static_cast<std::size_t>(op.path);
    double& stream = times.streams[static_cast<std::size_t>(op.stream)];
    double done = ready(times, op, place, overheads.wait, stream);
    if (bytes > 0 || times.without_bytes) {
      done += paths_[path].overhead + paths_[path].latency;
      times.head[path] = std::min(times.head[path], done);
      times.bytes[path] += bytes;
      done += bytes * paths_[path].seconds_per_byte;
    }
    stream = done;
    touch(times, op, place, done);
    last = std::max(last, done);
  }
  return last;
}

/// What is left after each op of the last slice: the same pass from the end on.
void MappedPlan::pass_back(Times& times) const {
  const auto place = [](std::uint32_t cell) { return cell; };
  times.begin(0);
  for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) {
    const double bytes = times.bytes_of(op->chunk, op->count);
    const auto path = static_cast<std::size_t>(op->path);
    double& stream = times.streams[static_cast<std::size_t>(op->stream)];
    double left = ready(times, *op, place, machine_->overheads().wait, stream);
    if (bytes > 0 || times.without_bytes) {
      times.tail[path] = std::min(times.tail[path], left);
      left += paths_[path].overhead + paths_[path].latency + bytes * paths_[path].seconds_per_byte;
    }
    stream = left;
    touch(times, *op, place, left);
  }
}

/// When what an op conflicts with has ended, as its stream sees it.
template <class Place>
double MappedPlan::ready(const Times& times, const MappedOp& op, const Place& place, double wait,
                         double stream_end) const {
  const std::uint32_t* const from = cell_list_.data() + op.first_cell;
  const std::uint32_t* const to = from + op.sources;
  const std::uint32_t* const end = to + op.destinations;
  double when = stream_end;
  for (const auto* cell = from; cell != end; ++cell)
    when = std::max(when, times.written[place(*cell)].seen_by(op.stream, wait));
  for (const auto* cell = to; cell != end; ++cell)
    when = std::max(when, times.read[place(*cell)].seen_by(op.stream, wait));
  return when;
}

template <class Place>
void MappedPlan::touch(Times& times, const MappedOp& op, const Place& place, double when) const {
  const std::uint32_t* const from = cell_list_.data() + op.first_cell;
  const std::uint32_t* const to = from + op.sources;
  const std::uint32_t* const end = to + op.destinations;
  for (const auto* cell = from; cell != to; ++cell) {
    auto& read = times.read[place(*cell)];
    // Of several readers the last; where that is the asking stream's own, others are forgotten,
    // which leaves a limit a limit.
    if (when > read.end) read = {when, op.stream};
  }
  for (const auto* cell = to; cell != end; ++cell) times.written[place(*cell)] = {when, op.stream};
}

LowerLimit MappedPlan::for_any_slices(const CallSize& size) const {
  // With fewer elements than chunks some ops have nothing to do.
  const auto parts = static_cast<std::size_t>(chunks_per_block_);
  const std::size_t share = size.block_elements / parts;
  if (share == 0) return {};
  LowerLimit limit{steps_, std::nullopt};
  const auto bytes = static_cast<double>(share * size.element_bytes);
  for (const Load& load : loads_) {
    const double seconds = load.head + bytes * load.seconds_per_share + load.tail;
    if (seconds > limit.seconds) limit = {seconds, load.resource};
  }
  return limit;
}

LowerLimit MappedPlan::for_slices(const CallSize& size, int slices, int depth) const {
  Times times(*this, slices, depth);
  double last = 0;
  for (int slice = 0; slice < slices; ++slice) {
    times.cut(size, chunks_per_block_, slice);
    last = std::max(last, pass(times, slice));
  }
  pass_back(times);
  LowerLimit limit = limit_by_load(times);
  if (last >= limit.seconds) limit = {last, std::nullopt};
  return limit;
}

LowerLimit MappedPlan::limit_by_load(const Times& times) const {
  std::vector<Load> loads;  // by resource
  loads.resize(machine_->resources().size(), Load{0, 0, never, never});
  for (std::size_t path = 0; path < paths_.size(); ++path) {
    if (times.bytes[path] <= 0) continue;
    for (const Use& use : paths_[path].uses) {
      Load& load = loads[static_cast<std::size_t>(use.resource)];
      load.seconds_per_share += times.bytes[path] * use.weight;
      load.head = std::min(load.head, times.head[path]);
      load.tail = std::min(load.tail, times.tail[path]);
    }
  }
  LowerLimit limit;
  for (std::size_t resource = 0; resource < loads.size(); ++resource) {
    const Load& load = loads[resource];
    if (load.seconds_per_share <= 0) continue;
    const double seconds = load.head +
                           load.seconds_per_share / best_capacity(machine_->resources()[resource]) +
                           load.tail;
    if (seconds > limit.seconds) limit = {seconds, static_cast<ResourceId>(resource)};
  }
  return limit;
}

}  // namespace ringside
