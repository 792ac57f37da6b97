// SPDX-License-Identifier: MIT
/// The functions of the fake libnccl. FAKENCCL_VERSION is what it says its version is;
/// FAKENCCL_WITHOUT_SEND and FAKENCCL_WITHOUT_SPLIT leave functions out.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakenccl/state.hpp"

namespace ringside::tests::fakenccl {
namespace {

constexpr int several_ranks_a_device = 23000;
constexpr int first_made_operator = 100;

struct Pending {
  Comm* comm;
  Op op;
};
thread_local int group_depth = 0;
thread_local std::vector<Pending> group;
thread_local Result group_error = Result::success;  // a group in which a call fails does nothing

State& state() { return State::get(); }

Comm* alive(nccl::Comm handle) {
  Comm* const comm = reinterpret_cast<Comm*>(handle);
  const std::lock_guard lock(state().mutex);
  return state().comms.contains(comm) ? comm : nullptr;
}

nccl::Comm register_comm(std::shared_ptr<Clique> clique, int rank, int device) {
  auto* const comm = new Comm;
  comm->clique = std::move(clique);
  comm->rank = rank;
  comm->device = device;
  const std::lock_guard lock(state().mutex);
  state().comms.insert(comm);
  return reinterpret_cast<nccl::Comm>(comm);
}

void end(Comm* comm) {
  release(*comm);
  const std::lock_guard lock(state().mutex);
  state().comms.erase(comm);
  delete comm;
}

/// What a call returns that has begun something.
Result begun(Comm& comm, Result result) {
  if (result != Result::success || !state().unblocking()) return result;
  comm.in_progress = 3;
  return Result::in_progress;
}

std::optional<std::string> wrong_with(const Comm& comm, const Op& op) {
  const std::string name = function_name(op.kind);
  const bool reads = op.kind != Kind::recv && (op.kind != Kind::broadcast || comm.rank == op.peer);
  const bool writes = op.kind != Kind::send && (op.kind != Kind::reduce || comm.rank == op.peer);
  const auto aligned = [&](const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % size_of(op.type) == 0;
  };
  if (op.count > 0 && ((reads && op.input == nullptr) || (writes && op.output == nullptr)))
    return name + " of a null buffer";
  if ((reads && !aligned(op.input)) || (writes && !aligned(op.output)))
    return name + " of a buffer that is not aligned to its elements";
  if (op.peer < 0 || op.peer >= comm.clique->ranks) return name + ": no such rank";
  const int reduction = static_cast<int>(op.reduction);
  if (reduction > static_cast<int>(Reduction::avg) && !comm.operators.contains(reduction))
    return name + " with an operator that is none";
  return std::nullopt;
}

Result submit_alone(nccl::Comm handle, const Op& op) {
  const char* const name = function_name(op.kind);
  if (const Result failed = state().begin(name); failed != Result::success) return failed;
  Comm* const comm = alive(handle);
  if (comm == nullptr) return state().misuse(std::string(name) + " of a communicator that is none");
  if (const auto wrong = wrong_with(*comm, op)) return state().misuse(*wrong);
  if (comm->in_progress > 0)
    return state().misuse(std::string(name) + " before the last has begun");
  if (group_depth == 0) return begun(*comm, launch(*comm, {op}));
  group.push_back({comm, op});
  return Result::success;
}

Result submit(nccl::Comm handle, const Op& op) {
  const Result result = submit_alone(handle, op);
  if (group_depth > 0 && result != Result::success) group_error = result;
  return result;
}

bool listed_twice(std::vector<int> devices) {
  std::sort(devices.begin(), devices.end());
  return std::adjacent_find(devices.begin(), devices.end()) != devices.end();
}

}  // namespace

const char* function_name(Kind kind) {
  constexpr const char* names[] = {"ncclAllReduce", "ncclReduceScatter", "ncclAllGather",
                                   "ncclBroadcast", "ncclReduce",        "ncclSend",
                                   "ncclRecv"};
  return names[static_cast<int>(kind)];
}

}  // namespace ringside::tests::fakenccl

using namespace ringside::tests::fakenccl;  // NOLINT(google-build-using-namespace)
using ringside::nccl::Residence;
using Handle = ringside::nccl::Comm;

extern "C" {

Result ncclGetVersion(int* version) {
  *version = FAKENCCL_VERSION;
  return Result::success;
}

const char* ncclGetErrorString(Result result) {
  constexpr const char* words[] = {
      "no error",       "unhandled cuda error", "unhandled system error",
      "internal error", "invalid argument",     "invalid usage",
      "remote error",   "operation in progress"};
  const auto i = static_cast<std::size_t>(result);
  return i < std::size(words) ? words[i] : "unknown result";
}

const char* ncclGetLastError(Handle) {
  static thread_local std::string text;
  const std::lock_guard lock(state().mutex);
  text = state().last_error;
  return text.c_str();
}

Result ncclCommInitAll(Handle* comms, int count, const int* devices) {
  if (const Result failed = state().begin("ncclCommInitAll"); failed != Result::success)
    return failed;
  const std::vector<int> list(devices, devices + count);
  if (state().no_device()) {
    const std::lock_guard lock(state().mutex);
    state().last_error = "Cuda failure 35 'CUDA driver version is insufficient'";
    return Result::unhandled_cuda_error;
  }
  if (listed_twice(list) && FAKENCCL_VERSION < several_ranks_a_device)
    return state().misuse("ncclCommInitAll: a device is listed twice");
  const auto clique = std::make_shared<Clique>(count);
  for (int rank = 0; rank < count; ++rank)
    comms[rank] = register_comm(clique, rank, list[static_cast<std::size_t>(rank)]);
  Result result = Result::success;
  for (int rank = 0; rank < count; ++rank) result = begun(*alive(comms[rank]), Result::success);
  return result;
}

Result ncclCommDestroy(Handle handle) {
  if (const Result failed = state().begin("ncclCommDestroy"); failed != Result::success)
    return failed;
  Comm* const comm = alive(handle);
  if (comm == nullptr) return state().misuse("ncclCommDestroy of a communicator that is none");
  if (!comm->operators.empty()) (void)state().misuse("ncclCommDestroy: an operator is left");
  end(comm);
  return Result::success;
}

Result ncclCommAbort(Handle handle) {
  if (const Result failed = state().begin("ncclCommAbort"); failed != Result::success)
    return failed;
  Comm* const comm = alive(handle);
  if (comm == nullptr) return state().misuse("ncclCommAbort of a communicator that is none");
  {
    const std::lock_guard lock(state().mutex);
    comm->clique->aborted = true;
    state().note_abort();
    state().changed.notify_all();
  }
  if (ringside::tests::fakecuda::Control::present())
    ringside::tests::fakecuda::Control::release_hangs();
  end(comm);
  return Result::success;
}

Result ncclCommGetAsyncError(Handle handle, Result* result) {
  Comm* const comm = alive(handle);
  if (comm == nullptr)
    return state().misuse("ncclCommGetAsyncError of a communicator that is none");
  *result = comm->in_progress > 0 && comm->in_progress-- > 0 ? Result::in_progress : comm->state;
  return Result::success;
}

Result ncclGroupStart() {
  if (const Result failed = state().begin("ncclGroupStart"); failed != Result::success)
    return failed;
  ++group_depth;
  return Result::success;
}

Result ncclGroupEnd() {
  const Result failed = state().begin("ncclGroupEnd");
  if (group_depth == 0) return state().misuse("ncclGroupEnd without a group");
  if (--group_depth > 0) return failed;
  const auto pending = std::exchange(group, {});
  const Result error = std::exchange(group_error, Result::success);
  if (failed != Result::success) return failed;
  if (error != Result::success || pending.empty()) return error;
  std::vector<Op> ops;
  for (const Pending& one : pending) {
    if (one.comm != pending.front().comm)
      return state().misuse("a group of several communicators: the fake does not do that");
    ops.push_back(one.op);
  }
  return begun(*pending.front().comm, launch(*pending.front().comm, ops));
}

Result ncclAllReduce(const void* input, void* output, std::size_t count, DataType type,
                     Reduction op, Handle comm, cudaStream_t stream) {
  return submit(comm, {Kind::all_reduce, input, output, count, type, op, 0, stream});
}

Result ncclReduceScatter(const void* input, void* output, std::size_t count, DataType type,
                         Reduction op, Handle comm, cudaStream_t stream) {
  return submit(comm, {Kind::reduce_scatter, input, output, count, type, op, 0, stream});
}

Result ncclAllGather(const void* input, void* output, std::size_t count, DataType type, Handle comm,
                     cudaStream_t stream) {
  return submit(comm, {Kind::all_gather, input, output, count, type, Reduction::sum, 0, stream});
}

Result ncclBroadcast(const void* input, void* output, std::size_t count, DataType type, int root,
                     Handle comm, cudaStream_t stream) {
  return submit(comm, {Kind::broadcast, input, output, count, type, Reduction::sum, root, stream});
}

Result ncclReduce(const void* input, void* output, std::size_t count, DataType type, Reduction op,
                  int root, Handle comm, cudaStream_t stream) {
  return submit(comm, {Kind::reduce, input, output, count, type, op, root, stream});
}

#ifndef FAKENCCL_WITHOUT_SEND
Result ncclSend(const void* data, std::size_t count, DataType type, int peer, Handle comm,
                cudaStream_t stream) {
  return submit(comm, {Kind::send, data, nullptr, count, type, Reduction::sum, peer, stream});
}
#endif

Result ncclRecv(void* data, std::size_t count, DataType type, int peer, Handle comm,
                cudaStream_t stream) {
  return submit(comm, {Kind::recv, nullptr, data, count, type, Reduction::sum, peer, stream});
}

Result ncclRedOpCreatePreMulSum(Reduction* op, void* scalar, DataType type, Residence residence,
                                Handle handle) {
  if (const Result failed = state().begin("ncclRedOpCreatePreMulSum"); failed != Result::success)
    return failed;
  Comm* const comm = alive(handle);
  if (comm == nullptr || residence != Residence::host_immediate)
    return state().misuse("ncclRedOpCreatePreMulSum: no communicator, or a scalar on a device");
  const std::lock_guard lock(state().mutex);
  int number = first_made_operator;
  while (comm->operators.contains(number)) ++number;
  comm->operators[number] = scalar_of(type, scalar);
  *op = static_cast<Reduction>(number);
  return Result::success;
}

Result ncclRedOpDestroy(Reduction op, Handle handle) {
  if (const Result failed = state().begin("ncclRedOpDestroy"); failed != Result::success)
    return failed;
  Comm* const comm = alive(handle);
  if (comm == nullptr || !comm->operators.contains(static_cast<int>(op)))
    return state().misuse("ncclRedOpDestroy of an operator that is none");
  const std::lock_guard lock(state().mutex);
  comm->operators.erase(static_cast<int>(op));
  return Result::success;
}

#ifndef FAKENCCL_WITHOUT_SPLIT
Result ncclCommSplit(Handle handle, int color, int key, Handle* part, void*) {
  if (const Result failed = state().begin("ncclCommSplit"); failed != Result::success)
    return failed;
  Comm* const comm = alive(handle);
  if (comm == nullptr) return state().misuse("ncclCommSplit of a communicator that is none");
  *part = nullptr;
  Clique& clique = *comm->clique;
  std::unique_lock lock(state().mutex);
  const std::size_t number = comm->splits++;
  Division& division = clique.divisions[number];
  division.choices.resize(static_cast<std::size_t>(clique.ranks));
  division.choices[static_cast<std::size_t>(comm->rank)] = {color, key};
  ++division.arrived;
  state().changed.notify_all();
  state().changed.wait(lock, [&] { return division.arrived == clique.ranks || clique.aborted; });
  if (clique.aborted) return Result::remote_error;

  std::vector<std::pair<int, int>> members;  // key, rank
  for (int rank = 0; rank < clique.ranks; ++rank) {
    const auto& [its_color, its_key] = division.choices[static_cast<std::size_t>(rank)];
    if (its_color == color) members.emplace_back(its_key, rank);
  }
  std::sort(members.begin(), members.end());
  auto& shared = division.cliques[color];
  if (!shared) shared = std::make_shared<Clique>(static_cast<int>(members.size()));
  const auto mine = shared;
  if (++division.left == clique.ranks) clique.divisions.erase(number);
  lock.unlock();
  if (color == ringside::nccl::split_no_color) return begun(*comm, Result::success);
  const auto at = std::find(members.begin(), members.end(), std::pair(key, comm->rank));
  *part = register_comm(mine, static_cast<int>(at - members.begin()), comm->device);
  (void)begun(*alive(*part), Result::success);
  return begun(*comm, Result::success);
}
#endif

}  // extern "C"
