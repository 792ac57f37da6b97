// SPDX-License-Identifier: MIT
/// One call of a collective on one rank, checked, as the front end hands it to a backend.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/collectives/calls.hpp"
#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/reduction/types.hpp"
#include "ringside/collectives/request.hpp"
#include "ringside/collectives/selector/choice.hpp"

namespace ringside {

/// Where a rank's output lies. A rank that holds no data both in its input and in its output (it is
/// not the root of a broadcast; its block is empty) goes along with the others.
enum class Placement : int { out_of_place, in_place, either };

[[nodiscard]] std::string_view to_string(Placement placement);

struct Call {
  Collective collective = Collective::all_reduce;
  Placement placement = Placement::out_of_place;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  /// Lengths in elements: one if all blocks are equal (never a list of equal ones), else all.
  std::span<const std::size_t> blocks;
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;  ///< sum where nothing is reduced
  int root = 0;
  const CallOptions* options = nullptr;

  [[nodiscard]] Request request(int ranks, bool in_place) const {
    return {collective, ranks, root, in_place};
  }
};

/// Throws Error(invalid_argument) for a time limit that is none.
void check_timeout(const CallOptions& options);

/// Checks a rank's arguments and settles the placement. Throws Error(invalid_argument).
[[nodiscard]] Call checked_call(const Arguments& arguments, int rank, int ranks,
                                const CallOptions& options);

/// Checks one end of a transfer. Throws Error(invalid_argument).
void check_message(const Message& message, int ranks);

/// Whether ranks of such a call may differ in placement, some of them having no say: what is agreed
/// on must then not depend on the placement. The same on all ranks.
[[nodiscard]] bool placement_may_differ(const Call& call, int ranks);

/// The call's block lengths, one for every block of the request.
[[nodiscard]] std::vector<std::size_t> all_blocks(const Call& call, int ranks);

/// Elements of all blocks of the request together.
[[nodiscard]] std::size_t total_elements(const Call& call, int ranks);

/// What a backend implements: one rank's end. Used by one thread at a time, but for `abort`.
class Communicator::Implementation {
 public:
  virtual ~Implementation() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  virtual void run(const Call& call) = 0;
  /// The spec string, `auto` resolved, that a call on blocks of `bytes` bytes in all would run, and
  /// why.
  [[nodiscard]] virtual Choice choice_for(const Request& request, std::size_t bytes,
                                          const CallOptions& options) const = 0;
  [[nodiscard]] std::string spec_for(const Request& request, std::size_t bytes,
                                     const CallOptions& options) const {
    return choice_for(request, bytes, options).spec;
  }
  /// What a plan does on the machine that the ranks are on, in words; nothing where that is not
  /// known.
  [[nodiscard]] virtual std::string on_machine(const Request& /*request*/, std::size_t /*bytes*/,
                                               const std::string& /*spec*/) const {
    return {};
  }
  virtual void abort(const std::string& why) = 0;

  /// Messages go on side by side, those of a pair of ranks and a direction in the order in which
  /// they were added. `over` is told, once, when nobody will touch the message's buffer any more:
  /// nothing, or the error. It must not throw.
  using Over = std::function<void(std::exception_ptr)>;
  virtual void add_message(const Message& message, const CallOptions& options, Over over) = 0;
  /// Works on the messages until all are over (true), or `more()` wants it to return (false), as
  /// others are to be added, or some are over. No call is run in the meantime.
  virtual bool work_on_messages(const std::function<bool()>& more) = 0;

  /// This rank's end of the communicator of all ranks that give the same color, which is not
  /// negative, or is `no_color`: nothing. A call like any other.
  [[nodiscard]] virtual std::unique_ptr<Implementation> split(int color, int key) = 0;

  /// So many bytes, zero, aligned to a page, that the other ranks reach as well as is possible.
  [[nodiscard]] virtual std::shared_ptr<std::byte> shared_memory(std::size_t bytes);

  /// The rank will make no more calls: returns when all it has begun is complete, and throws what
  /// has gone wrong unseen.
  virtual void finish() {}

  /// Whether only the thread that made the world may make calls: then asynchronous ones have no
  /// thread of their own, but go on where that thread waits for one or tests one.
  [[nodiscard]] virtual bool runs_where_awaited() { return false; }
  /// Such a call begins; it stays valid until it is over. No other runs in the meantime. Throws its
  /// error.
  virtual void begin(const Call& call) { run(call); }
  /// Moves it on without waiting. True when it is over; throws its error.
  [[nodiscard]] virtual bool advance() { return true; }
  /// A thread begins that runs this rank's calls from now on: called there, before all else. What
  /// goes wrong shows in the calls.
  virtual void begin_thread() {}

  /// So many threads more (or fewer) of this rank want a core. Callable from any thread.
  virtual void count_threads(int more) = 0;
};

}  // namespace ringside
