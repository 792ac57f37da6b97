// SPDX-License-Identifier: MIT
#include "ringside/tests/fakenccl/state.hpp"

namespace ringside::tests::fakenccl {

State& State::get() {
  static State* const state = new State;  // NOLINT: used until the process has ended
  return *state;
}

Result State::begin(const char* function) {
  const std::lock_guard lock(mutex);
  names_.emplace_back(function);
  if (static_cast<int>(names_.size()) != failing_call_) return Result::success;
  last_error = std::string(function) + " was told to fail";
  return failing_result_;
}

Result State::misuse(const std::string& what) {
  const std::lock_guard lock(mutex);
  misuses_.push_back(what);
  last_error = what;
  return Result::invalid_usage;
}

void State::note(const Comm& comm, const Op& op) {
  const std::lock_guard lock(mutex);
  launched_.push_back({function_name(op.kind), comm.rank, op.count, static_cast<int>(op.type),
                       static_cast<int>(op.reduction), op.peer, op.stream});
}

void State::reset() {
  const std::lock_guard lock(mutex);
  no_device_ = hangs_ = unblocking_ = false;
  hang_error_ = failing_call_ = aborted_ = 0;
  names_.clear();
  launched_.clear();
  misuses_.clear();
  last_error.clear();
}

void State::set_no_device(bool none) {
  const std::lock_guard lock(mutex);
  no_device_ = none;
}

void State::fail_call(int n, int result) {
  const std::lock_guard lock(mutex);
  failing_call_ = n;
  failing_result_ = static_cast<Result>(result);
}

int State::calls() const { return static_cast<int>(names_.size()); }
std::vector<std::string> State::names() const { return names_; }

void State::hang(bool hangs, int error) {
  const std::lock_guard lock(mutex);
  hangs_ = hangs;
  hang_error_ = error;
}

void State::set_unblocking(bool unblocking) {
  const std::lock_guard lock(mutex);
  unblocking_ = unblocking;
}

std::vector<Launched> State::launched() const { return launched_; }

int State::alive() const {
  int alive = 0;
  for (const Comm* comm : comms) alive += 1 + static_cast<int>(comm->operators.size());
  return alive;
}

int State::aborted() const { return aborted_; }
std::vector<std::string> State::misuses() const { return misuses_; }

}  // namespace ringside::tests::fakenccl

extern "C" ringside::tests::fakenccl::Control* fakenccl_control() {
  return &ringside::tests::fakenccl::State::get();
}
