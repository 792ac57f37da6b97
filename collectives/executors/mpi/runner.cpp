// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ringside/collectives/executors/mpi/private_memory.hpp"

namespace ringside::mpi {
namespace {

// Messages of a lane that are under way at a time: enough to keep a network busy.
constexpr std::size_t most_flights = 64;

// How long a rank that gives up waits for its GPU.
constexpr Seconds longest_settling{1};

}  // namespace

Runner::Runner(Board& board, Tags tags, const Gpus& gpus)
    : board_(board),
      transport_(board.team().transport()),
      tags_(tags),
      bases_(static_cast<std::size_t>(board.ranks()) * host::bases_per_rank),
      has_shared_(static_cast<std::size_t>(board.ranks())),
      gpus_(gpus) {}

void Runner::begin(const Bound& bound, std::uint64_t call, const Memories& own) {
  bound_ = &bound;
  call_ = call;
  const host::Program& program = bound.program;
  lanes_.assign(program.lanes.size(), {});
  unfinished_ =
      static_cast<std::size_t>(std::count_if(program.lanes.begin(), program.lanes.end(),
                                             [](const auto& steps) { return !steps.empty(); }));
  sources_.resize(std::max<std::size_t>(sources_.size(), program.most_sources));
  destinations_.resize(std::max<std::size_t>(destinations_.size(), program.most_destinations));
  if (on_gpu())
    set_gpu_bases(own);
  else
    set_bases(own);
}

void Runner::set_bases(const Memories& own) {
  for (const int peer : board_.near()) {
    const Where& where = board_.entry(peer, call_).where;
    const bool is_shared = where.memory == Memory::shared;
    has_shared_[static_cast<std::size_t>(peer)] = is_shared;
    const auto set = [&](Buffer buffer, std::byte* at) {
      bases_[host::base_index(peer, buffer)] = at;
    };
    const auto user = [&](std::uint64_t at) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): private memory is an address of another process
      return is_shared ? board_.address(peer, at) : reinterpret_cast<std::byte*>(at);
    };
    // Inputs are only read: the prover refuses plans that write them.
    set(Buffer::input,
        peer == board_.rank() ? const_cast<std::byte*>(own.input) : user(where.input));
    set(Buffer::output, peer == board_.rank() ? own.output : user(where.output));
    set(Buffer::scratch, board_.address(peer, where.scratch));
  }
}

void Runner::set_gpu_bases(const Memories& own) {
  if (!gpu_lanes_) gpu_lanes_ = gpus_.own()->make_lanes();
  const std::array<std::byte*, host::bases_per_rank> here = {
      const_cast<std::byte*>(own.input), own.output, own.gpu_scratch, own.pinned_scratch};
  for (const std::uint32_t base : bound_->bases) {
    const int peer = static_cast<int>(base / host::bases_per_rank);
    const std::uint32_t which = base % host::bases_per_rank;
    const ExportedPlace& place = board_.entry(peer, call_).where.exported[which];
    bases_[base] =
        peer == board_.rank() ? here[which] : gpus_.exports()->open(board_.member(peer), place);
  }
}

bool Runner::advance() {
  bool moved = false;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (lanes_[lane].done == bound_->program.lanes[lane].size()) continue;
    moved |=
        lane < static_cast<std::size_t>(bound_->lanes) ? advance_ops(lane) : advance_messages(lane);
  }
  return moved;
}

bool Runner::advance_ops(std::size_t lane) {
  const auto& steps = bound_->program.lanes[lane];
  Lane& state = lanes_[lane];
  bool moved = false;
  while (state.done < steps.size()) {
    if (state.next == state.done) {
      const host::Step& step = steps[state.done];
      if (first_unreached(step) != nullptr) break;
      execute(step, lane);
      ++state.next;
      moved = true;
    }
    if (on_gpu() && !gpu_lanes_->is_idle(lane)) break;
    set_done(lane, state.next);
    moved = true;
  }
  return moved;
}

bool Runner::advance_messages(std::size_t lane) {
  const auto& steps = bound_->program.lanes[lane];
  Lane& state = lanes_[lane];
  bool moved = false;
  while (state.next < steps.size() && has_room(lane) &&
         first_unreached(steps[state.next]) == nullptr) {
    begin_messages(steps[state.next], lane);
    ++state.next;
    moved = true;
  }
  if (on_gpu())
    moved |= staged(lane).advance();
  else
    while (!state.flights.empty() && transport_.done(state.flights.front().ticket))
      state.flights.pop_front();
  const std::uint32_t done = first_flight(lane).value_or(state.next);
  if (done == state.done) return moved;
  if (bound_->program.checks) compare_landed(lane, done);
  set_done(lane, done);
  return true;
}

void Runner::set_done(std::size_t lane, std::uint32_t done) {
  lanes_[lane].done = done;
  if (done == bound_->program.lanes[lane].size()) --unfinished_;
  board_.progress(board_.rank(), static_cast<int>(lane))
      .store(host::progress(call_, done), std::memory_order_release);
}

StagedMessages& Runner::staged(std::size_t lane) {
  if (staged_.size() <= lane) staged_.resize(lane + 1);
  if (!staged_[lane])
    staged_[lane] = std::make_unique<StagedMessages>(transport_, *gpus_.own(), *gpu_lanes_, lane);
  return *staged_[lane];
}

bool Runner::has_room(std::size_t lane) {
  return on_gpu() ? !staged(lane).is_full() : lanes_[lane].flights.size() < most_flights;
}

std::optional<std::uint32_t> Runner::first_flight(std::size_t lane) const {
  if (on_gpu())
    return lane < staged_.size() && staged_[lane] ? staged_[lane]->first_step() : std::nullopt;
  const auto& flights = lanes_[lane].flights;
  return flights.empty() ? std::nullopt : std::optional(flights.front().step);
}

void Runner::launch(const host::Step& step, std::size_t lane) {
  host::for_each_run(bound_->program, step, bases_.data(), sources_.data(), destinations_.data(),
                     [&](std::size_t elements) {
                       gpu_lanes_->fold(lane, *bound_->kernels, step.kernel, sources_.data(),
                                        destinations_.data(), elements, bound_->by_engine);
                     });
}

void Runner::execute(const host::Step& step, std::size_t lane) {
  if (on_gpu()) return launch(step, lane);
  if (!bound_->program.checks) return execute(step);
  const host::Checker checks = checker();
  checks.before(step);
  execute(step);
  checks.after(step);
}

void Runner::execute(const host::Step& step) {
  const Role& role = bound_->roles[step.op];
  // The buffers of a rank may be shared where not all are.
  if (role.kind == Role::Kind::fold || has_shared_[static_cast<std::size_t>(role.peer)])
    host::fold_step(bound_->program, step, bases_.data(), sources_.data(), destinations_.data());
  else
    copy(step, role);
}

namespace {

/// The memory of a run of a plain copy.
struct Ends {
  std::byte* from;
  std::byte* to;
};

Ends ends_of(const host::Program& program, const host::Run& run,
             const std::vector<std::byte*>& bases) {
  const host::Address* address = &program.addresses[run.first_address];
  return {bases[address[0].base] + address[0].offset, bases[address[1].base] + address[1].offset};
}

}  // namespace

void Runner::copy(const host::Step& step, const Role& role) {
  const host::Program& program = bound_->program;
  const int process = board_.team().process(board_.member(role.peer));
  for (std::uint32_t i = 0; i < step.runs; ++i) {
    const host::Run& run = program.runs[step.first_run + i];
    const Ends ends = ends_of(program, run, bases_);
    const std::size_t bytes = run.elements * bound_->element_bytes;
    const bool copied = role.kind == Role::Kind::fetch
                            ? read_private(process, ends.from, ends.to, bytes)
                            : write_private(process, ends.to, ends.from, bytes);
    if (!copied) {
      const int peer = board_.member(role.peer);
      const std::string who = board_.team().describe(peer);
      const bool died = board_.team().has_died(peer);
      throw Error(
          died ? ErrorCode::aborted : ErrorCode::io,
          died ? fmt::format("{} has died", who) : fmt::format("cannot copy the memory of {}", who))
          .at_rank(board_.rank())
          .with_peer(role.peer)
          .at_step(static_cast<int>(step.op));
    }
  }
}

void Runner::begin_messages(const host::Step& step, std::size_t lane) {
  const host::Program& program = bound_->program;
  const Role& role = bound_->roles[step.op];
  const int peer = board_.member(role.peer);
  const int tag = tags_.lane(static_cast<int>(lane) % bound_->lanes);
  const bool sends = role.kind == Role::Kind::send;
  if (program.checks && sends) checker().before(step);
  for (std::uint32_t i = 0; i < step.runs; ++i) {
    const host::Run& run = program.runs[step.first_run + i];
    const Ends ends = ends_of(program, run, bases_);
    const std::size_t bytes = run.elements * bound_->element_bytes;
    const std::uint32_t number = lanes_[lane].next;
    if (program.checks)
      lanes_[lane].flights.push_back({move_sum(step, i, sends, peer, tag), number});
    if (!on_gpu())
      lanes_[lane].flights.push_back({sends ? transport_.send(ends.from, bytes, peer, tag)
                                            : transport_.receive(ends.to, bytes, peer, tag),
                                      number});
    else if (sends)
      staged(lane).send(ends.from, bytes, peer, tag, number);
    else
      staged(lane).receive(ends.to, bytes, peer, tag, number);
  }
}

// --- checksums -----------------------------------------------------------------------------------

void Runner::sum_inputs(std::uint64_t call) {
  checker().sum_inputs();
  call_ = call;
}

Ticket Runner::move_sum(const host::Step& step, std::uint32_t run, bool sends, int peer, int tag) {
  std::byte* const sum = checker().sum_of_result(step, run);
  return sends ? transport_.send(sum, sizeof(std::uint64_t), peer, tag)
               : transport_.receive(sum, sizeof(std::uint64_t), peer, tag);
}

void Runner::compare_landed(std::size_t lane, std::uint32_t done) {
  const auto& steps = bound_->program.lanes[lane];
  for (std::uint32_t step = lanes_[lane].done; step < done; ++step) checker().after(steps[step]);
}

// --- waiting -------------------------------------------------------------------------------------

bool Runner::reached(const host::BoundWait& wait) const {
  return host::reached(board_.progress(wait.rank, wait.lane).load(std::memory_order_acquire),
                       host::progress(call_, wait.value));
}

const host::BoundWait* Runner::first_unreached(const host::Step& step) const {
  const host::BoundWait* wait = bound_->program.waits.data() + step.first_wait;
  for (std::uint32_t i = 0; i < step.waits; ++i, ++wait)
    if (!reached(*wait)) return wait;
  return nullptr;
}

const host::BoundWait* Runner::leave_obstacle() const {
  for (const host::BoundWait& wait : bound_->program.leave_waits)
    if (!reached(wait)) return &wait;
  return nullptr;
}

Obstacle Runner::described(const host::BoundWait& wait) const {
  const Schedule& schedule = bound_->program.compiled->schedule;
  const auto& ops =
      schedule.streams[static_cast<std::size_t>(wait.rank * schedule.lanes + int{wait.lane})];
  return {wait.rank, ops[(wait.value - 1) % ops.size()]};
}

std::optional<Obstacle> Runner::obstacle() const {
  if (is_over()) {
    const auto* wait = leave_obstacle();
    return wait == nullptr ? std::nullopt : std::optional(described(*wait));
  }
  // Another rank of this host first: then perhaps it is that one which waits for a message.
  std::optional<Obstacle> own;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const auto& steps = bound_->program.lanes[lane];
    const Lane& state = lanes_[lane];
    if (const auto first = first_flight(lane); first && !own) {
      const auto op = steps[*first].op;
      own = {bound_->roles[op].peer, static_cast<int>(op)};
    } else if (is_launched(lane) && !own) {
      own = {board_.rank(), static_cast<int>(steps[state.done].op)};
    }
    if (state.next == steps.size()) continue;
    const auto* wait = first_unreached(steps[state.next]);
    if (wait != nullptr && wait->rank != board_.rank()) return described(*wait);
  }
  return own;
}

void Runner::drop() {
  for (Lane& lane : lanes_) {
    for (Flight& flight : lane.flights) transport_.drop(flight.ticket);
    lane.flights.clear();
  }
  for (const auto& messages : staged_)
    if (messages) messages->drop();
  if (gpu_lanes_) gpu_lanes_->settle(longest_settling);
}

}  // namespace ringside::mpi
