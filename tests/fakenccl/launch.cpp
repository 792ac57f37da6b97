// SPDX-License-Identifier: MIT
/// How the fake runs a group of calls. Inputs are read while the caller waits, peers are waited for
/// on the host (as NCCL may), outputs are written by copies in the streams: asynchronously.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <optional>

#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakenccl/state.hpp"

namespace ringside::tests::fakenccl {
namespace {

constexpr std::chrono::seconds patience{20};  // a test that deadlocks ends

/// Thrown within this file only.
struct Refused {
  Result result;
};

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  const std::lock_guard lock(State::get().mutex);
  State::get().last_error = std::string("Cuda failure '") + cudaGetErrorString(error) + "'";
  throw Refused{Result::unhandled_cuda_error};
}

void* staging_of(Comm& comm, std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, bytes));
  comm.staging.push_back(memory);
  return memory;
}

Bytes read(Comm& comm, const void* from, std::size_t bytes, cudaStream_t stream) {
  Bytes data(bytes);
  if (bytes == 0) return data;
  void* const staging = staging_of(comm, bytes);
  check(cudaMemcpyAsync(staging, from, bytes, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  if (fakecuda::Control::present()) fakecuda::Control::host_reads(staging, bytes);
  std::memcpy(data.data(), staging, bytes);
  return data;
}

void write(Comm& comm, void* to, const Bytes& data, cudaStream_t stream) {
  if (data.empty()) return;
  void* const staging = staging_of(comm, data.size());
  if (fakecuda::Control::present()) fakecuda::Control::host_writes(staging, data.size());
  std::memcpy(staging, data.data(), data.size());
  check(cudaMemcpyAsync(to, staging, data.size(), cudaMemcpyHostToDevice, stream));
}

/// A copy that never ends on a double where 0 to 1 hangs.
void hang(Comm& comm, cudaStream_t stream) {
  void* here = nullptr;
  void* there = nullptr;
  check(cudaMalloc(&here, 4));
  comm.scratch.push_back(here);
  check(cudaSetDevice(1));
  const cudaError_t made = cudaMalloc(&there, 4);
  check(cudaSetDevice(comm.device));
  check(made);
  comm.scratch.push_back(there);
  check(cudaMemcpyPeerAsync(there, 1, here, 0, 4, stream));
}

std::size_t input_elements(const Op& op, int rank, int ranks) {
  switch (op.kind) {
    case Kind::reduce_scatter:
      return op.count * static_cast<std::size_t>(ranks);
    case Kind::broadcast:
      return rank == op.peer ? op.count : 0;
    case Kind::recv:
      return 0;
    default:
      return op.count;
  }
}

bool is_collective(const Op& op) { return op.kind != Kind::send && op.kind != Kind::recv; }

class Launch {
 public:
  Launch(Comm& comm, const std::vector<Op>& ops) : comm_(comm), ops_(ops) {}

  void run() {
    give();
    std::vector<Bytes> outputs;
    for (std::size_t i = 0; i < ops_.size(); ++i) outputs.push_back(take(i));
    await_taken();
    if (State::get().hangs() && comm_.rank == 0 && !ops_.empty()) {
      hang(comm_, ops_.front().stream);
      comm_.state = static_cast<Result>(State::get().hang_error());
    }
    for (std::size_t i = 0; i < ops_.size(); ++i)
      write(comm_, ops_[i].output, outputs[i], ops_[i].stream);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  /// Publishes all inputs.
  void give() {
    std::vector<Bytes> inputs;
    for (const Op& op : ops_) {
      State::get().note(comm_, op);
      inputs.push_back(read(comm_, op.input,
                            input_elements(op, comm_.rank, comm_.clique->ranks) * size_of(op.type),
                            op.stream));
    }
    const std::lock_guard lock(State::get().mutex);
    numbers_.resize(ops_.size());
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (is_collective(ops_[i])) join_round(i, std::move(inputs[i]));
      if (ops_[i].kind == Kind::send) {
        sent_.push_back(std::make_shared<Parcel>(Parcel{std::move(inputs[i])}));
        comm_.clique->parcels[{comm_.rank, ops_[i].peer}].push_back(sent_.back());
      }
    }
    State::get().changed.notify_all();
  }

  void join_round(std::size_t i, Bytes input) {
    const Op& op = ops_[i];
    const auto ranks = static_cast<std::size_t>(comm_.clique->ranks);
    const auto made = comm_.operators.find(static_cast<int>(op.reduction));
    numbers_[i] = comm_.collectives++;
    Round& round = comm_.clique->rounds[numbers_[i]];
    round.inputs.resize(ranks);
    round.scalars.resize(ranks);
    round.inputs[static_cast<std::size_t>(comm_.rank)] = std::move(input);
    round.scalars[static_cast<std::size_t>(comm_.rank)] =
        made == comm_.operators.end() ? 1.0 : made->second;
    const bool built_in = made == comm_.operators.end();
    const std::string what =
        fmt::format("{} of {} of type {}, {}, root {}", function_name(op.kind), op.count,
                    static_cast<int>(op.type),
                    built_in ? fmt::format("operator {}", static_cast<int>(op.reduction))
                             : fmt::format("times {}", made->second),
                    op.peer);
    if (round.arrived++ == 0) round.what = what;
    if (round.what != what) unlike_ = fmt::format("{} meets {}", what, round.what);
  }

  Bytes take(std::size_t i) {
    const Op& op = ops_[i];
    if (op.kind == Kind::send) return {};
    if (op.kind == Kind::recv) return take_parcel(op);
    Clique& clique = *comm_.clique;
    Lock lock(State::get().mutex);
    await(lock, [&] { return clique.rounds[numbers_[i]].arrived == clique.ranks; });
    Round& round = clique.rounds[numbers_[i]];
    Bytes output = output_of(op, comm_.rank, round);
    if (++round.left == clique.ranks) clique.rounds.erase(numbers_[i]);
    return output;
  }

  Bytes take_parcel(const Op& op) {
    Lock lock(State::get().mutex);
    auto& parcels = comm_.clique->parcels[{op.peer, comm_.rank}];
    await(lock, [&] { return !parcels.empty(); });
    const auto parcel = parcels.front();
    parcels.pop_front();
    parcel->taken = true;
    State::get().changed.notify_all();
    if (parcel->data.size() != op.count * size_of(op.type))
      unlike_ = fmt::format("a message of {} bytes meets a receive of {}", parcel->data.size(),
                            op.count * size_of(op.type));
    return parcel->data;
  }

  /// A send ends when it has been received.
  void await_taken() {
    Lock lock(State::get().mutex);
    for (const auto& parcel : sent_) await(lock, [&] { return parcel->taken; });
    lock.unlock();
    if (unlike_) throw Refused{State::get().misuse(*unlike_)};
  }

  template <class Ready>
  void await(Lock& lock, Ready&& ready) {
    const bool came = State::get().changed.wait_for(
        lock, patience, [&] { return ready() || comm_.clique->aborted; });
    if (comm_.clique->aborted) throw Refused{Result::remote_error};
    if (!came) throw Refused{Result::system_error};
  }

  Comm& comm_;
  const std::vector<Op>& ops_;
  std::vector<std::size_t> numbers_;
  std::vector<std::shared_ptr<Parcel>> sent_;
  std::optional<std::string> unlike_;
};

}  // namespace

Result launch(Comm& comm, const std::vector<Op>& ops) {
  int before = 0;
  if (cudaGetDevice(&before) != cudaSuccess || cudaSetDevice(comm.device) != cudaSuccess)
    return Result::unhandled_cuda_error;
  Result result = Result::success;
  try {
    Launch(comm, ops).run();
  } catch (const Refused& refused) {
    result = refused.result;
  }
  if (cudaSetDevice(before) != cudaSuccess) return Result::unhandled_cuda_error;
  return result;
}

void release(Comm& comm) {
  int before = 0;
  (void)cudaGetDevice(&before);
  (void)cudaSetDevice(comm.device);
  (void)cudaDeviceSynchronize();
  // Twice: a test may have one call fail.
  for (void* memory : comm.staging)
    if (cudaFreeHost(memory) != cudaSuccess) (void)cudaFreeHost(memory);
  for (void* memory : comm.scratch)
    if (cudaFree(memory) != cudaSuccess) (void)cudaFree(memory);
  (void)cudaSetDevice(before);
  comm.staging.clear();
  comm.scratch.clear();
}

}  // namespace ringside::tests::fakenccl
