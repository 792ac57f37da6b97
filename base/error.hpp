// SPDX-License-Identifier: MIT
/// The one exception class of Ringside, and the codes by which programs tell errors apart.
#pragma once

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ringside {

/// What went wrong, in the terms a caller can act on. The values are part of the C interface.
enum class ErrorCode : int {
  invalid_argument = 1,  ///< the caller asked for something that makes no sense
  bad_input = 2,         ///< a file, a spec string or a pasted text cannot be read
  unsupported = 3,       ///< legal, but this algorithm, build or machine cannot do it
  mismatch = 4,          ///< ranks of one communicator made different calls
  timeout = 5,           ///< a rank did not arrive, or did not go on, within the time limit
  aborted = 6,           ///< the communicator was aborted
  failed = 7,            ///< the communicator failed in an earlier call
  io = 8,                ///< the operating system refused (file, process, memory)
  internal = 9,          ///< a defect in Ringside
  device = 10,           ///< a GPU or its runtime refused or failed
  corrupted = 11,        ///< bytes that arrived differ from those sent (the option `checksum`)
};

/// The code's name as printed in messages and JSON ("bad_input").
[[nodiscard]] std::string_view to_string(ErrorCode code);

/// Every error of the library. `what()` is one line, without a final full stop or newline, and
/// reads as a sentence fragment ("rank 2 has not entered all_reduce (call 7) after 1 s").
class Error : public std::runtime_error {
 public:
  /// `message`: what `what()` returns, worded as above.
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  /// What a program decides by; messages are for people and change.
  [[nodiscard]] ErrorCode code() const { return code_; }

  /// The rank that noticed, where known.
  [[nodiscard]] std::optional<int> rank() const { return rank_; }
  /// The rank that it waited for or disagrees with, where known.
  [[nodiscard]] std::optional<int> peer() const { return peer_; }
  /// The op that it was at, by its place in the plan, where known.
  [[nodiscard]] std::optional<int> step() const { return step_; }

  /// To be chained where an error is made: `throw Error(...).at_rank(2)`.
  Error& at_rank(int rank) { return rank_ = rank, *this; }
  /// As at_rank, for `peer()`.
  Error& with_peer(int peer) { return peer_ = peer, *this; }
  /// As at_rank, for `step()`.
  Error& at_step(int step) { return step_ = step, *this; }

 private:
  ErrorCode code_;
  std::optional<int> rank_, peer_, step_;
};

/// What `body` throws, as a value that can be kept and handed to another thread, or nothing. The
/// caller's is the only reference to it.
template <class Body>
[[nodiscard]] std::exception_ptr exception_of(Body&& body) {
  try {
    body();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace ringside
