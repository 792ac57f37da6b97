// SPDX-License-Identifier: MIT
/// What the fake libnccl knows: its communicators, what ranks have given to each other, and what a
/// test has planned.
#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ringside/collectives/external/nccl/interface.hpp"
#include "ringside/tests/fakenccl/control.hpp"

namespace ringside::tests::fakenccl {

using nccl::DataType;
using nccl::Reduction;
using nccl::Result;
using Bytes = std::vector<std::byte>;

enum class Kind { all_reduce, reduce_scatter, all_gather, broadcast, reduce, send, recv };

/// One call as it was made.
struct Op {
  Kind kind = Kind::all_reduce;
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;
  DataType type = DataType::uint8;
  Reduction reduction = Reduction::sum;
  int peer = 0;  ///< or root
  cudaStream_t stream = nullptr;
};

/// The inputs of all ranks to one collective.
struct Round {
  std::vector<Bytes> inputs;
  std::vector<double> scalars;  ///< of pre-multiplied sums
  std::string what;             ///< of the first rank that came; all must say the same
  int arrived = 0, left = 0;
};

/// A message under way.
struct Parcel {
  Bytes data;
  bool taken = false;
};

/// The choices of all ranks in one split.
struct Division {
  std::vector<std::pair<int, int>> choices;  // color, key
  std::map<int, std::shared_ptr<struct Clique>> cliques;
  int arrived = 0, left = 0;
};

/// What the ranks of a communicator share.
struct Clique {
  explicit Clique(int count) : ranks(count) {}
  int ranks;
  bool aborted = false;
  std::map<std::size_t, Round> rounds;        ///< by number of the collective
  std::map<std::size_t, Division> divisions;  ///< by number of the split
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Parcel>>> parcels;  ///< by (from, to)
};

/// One rank's end.
struct Comm {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  int device = 0;
  std::size_t collectives = 0, splits = 0;
  std::map<int, double> operators;  ///< pre-multiplied sums: their scalars
  std::vector<void*> staging;       ///< pinned memory that copies may still read
  std::vector<void*> scratch;       ///< device memory of hanging copies
  Result state = Result::success;
  int in_progress = 0;  ///< for so many questions more
};

class State final : public Control {
 public:
  static State& get();

  std::mutex mutex;
  std::condition_variable changed;
  std::set<Comm*> comms;
  std::string last_error;

  /// Counts a call; what it must return without doing anything.
  Result begin(const char* function);
  Result misuse(const std::string& what);
  [[nodiscard]] bool hangs() const { return hangs_; }
  [[nodiscard]] int hang_error() const { return hang_error_; }
  [[nodiscard]] bool unblocking() const { return unblocking_; }
  [[nodiscard]] bool no_device() const { return no_device_; }
  void note(const Comm& comm, const Op& op);
  void note_abort() { ++aborted_; }

  void reset() override;
  void set_no_device(bool none) override;
  void fail_call(int n, int result) override;
  [[nodiscard]] int calls() const override;
  [[nodiscard]] std::vector<std::string> names() const override;
  void hang(bool hangs, int error) override;
  void set_unblocking(bool unblocking) override;
  [[nodiscard]] std::vector<Launched> launched() const override;
  [[nodiscard]] int alive() const override;
  [[nodiscard]] int aborted() const override;
  [[nodiscard]] std::vector<std::string> misuses() const override;

 private:
  bool no_device_ = false, hangs_ = false, unblocking_ = false;
  int hang_error_ = 0;
  int failing_call_ = 0;
  Result failing_result_ = Result::success;
  int aborted_ = 0;
  std::vector<std::string> names_;
  std::vector<Launched> launched_;
  std::vector<std::string> misuses_;
};

[[nodiscard]] const char* function_name(Kind kind);

/// Bytes of an element.
[[nodiscard]] std::size_t size_of(DataType type);
[[nodiscard]] ElementType element_type(DataType type);
/// A pre-multiplied sum's scalar, given as an element.
[[nodiscard]] double scalar_of(DataType type, const void* element);

/// What a rank gets of a collective, from the inputs of all; nothing if it gets nothing.
[[nodiscard]] Bytes output_of(const Op& op, int rank, const Round& round);

/// Runs one group of calls of a rank: takes their inputs, waits for its peers, and has the outputs
/// written in the calls' streams.
[[nodiscard]] Result launch(Comm& comm, const std::vector<Op>& ops);

/// Gives back what it holds on its device.
void release(Comm& comm);

}  // namespace ringside::tests::fakenccl
