// SPDX-License-Identifier: MIT
/// What a rank calls: its end of a communicator.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "ringside/collectives/calls.hpp"
#include "ringside/collectives/handle.hpp"
#include "ringside/collectives/request.hpp"
#include "ringside/collectives/shared_memory.hpp"

namespace ringside {

class AsyncCalls;

/// One rank's end of a communicator, and the blocking form of the collectives (see Calls): a call
/// returns when this rank's output is complete and nobody will touch this rank's buffers any more,
/// so they may be reused at once.
///
/// Used by one thread at a time; different communicators of a rank may be used by different
/// threads. Asynchronous calls made before a blocking one run before it. Must not outlive its
/// World.
class Communicator : public Calls<Communicator, void> {
 public:
  class Implementation;  ///< one per backend
  /// For backends; programs get theirs from World::run and `split`.
  explicit Communicator(std::unique_ptr<Implementation> implementation);
  Communicator(Communicator&&) noexcept;
  /// Waits as the destructor does for the one that is replaced.
  Communicator& operator=(Communicator&&) noexcept;
  /// Waits for the asynchronous calls that are still outstanding. Calls in a group that is still
  /// open have not begun; they run when it ends.
  ~Communicator();

  /// This end's number in this communicator, from 0.
  [[nodiscard]] int rank() const;
  /// How many ranks there are.
  [[nodiscard]] int size() const;

  /// The same calls without waiting: `comm.async().all_reduce(...)` returns a Handle.
  [[nodiscard]] AsyncCalls async();

  /// A collective told as data: what the named calls come to. Errors as of those (see Calls).
  void submit(const Arguments& arguments, const CallOptions& options);
  /// One end of a message told as data.
  void submit(const Message& message, const CallOptions& options);

  /// The color of a rank that becomes part of none (`split`).
  static constexpr int no_color = -1;
  /// Called by all ranks: the ranks that give the same `color` (not negative) become a communicator
  /// of their own, ranked by (key, rank here). Nothing for a rank that gives `no_color`. A failure
  /// of either leaves the other alone, but a rank whose body has ended is missing in both. Errors
  /// as of any call; Error(invalid_argument) in a group.
  [[nodiscard]] std::optional<Communicator> split(int color, int key = 0);

  /// Memory for buffers of this rank. Where ranks are processes, those of its host read and write
  /// it directly, while other buffers are reached by copies; it is memory of the rank's GPU, if it
  /// has one. Where they are threads, it is memory like any other. Not a collective. Throws
  /// Error(io) without memory, Error(unsupported) for threads on GPUs.
  [[nodiscard]] SharedMemory shared_memory(std::size_t bytes);

  /// The canonical spec of the algorithm that such a call would run; `bytes`: of all blocks of the
  /// request together.
  [[nodiscard]] std::string algorithm_for(Collective collective, std::size_t bytes, bool in_place,
                                          const CallOptions& options = {}) const;

  /// What such a call would run and why, and what that moves, in words: counts, no measurement. On
  /// GPUs with the option `topology` also what it does on that machine, simulated.
  /// Errors as of algorithm_for; Error(unsupported) with NCCL, which does not tell, and for
  /// barrier.
  [[nodiscard]] std::string explain(Collective collective, std::size_t bytes, bool in_place = false,
                                    const CallOptions& options = {}) const;

  /// Makes every waiting and every later call of all ranks throw. Callable from any thread.
  void abort(const std::string& why);

 private:
  friend class AsyncCalls;
  friend class World;
  void finish();
  void note(std::shared_ptr<Handle::State> call, bool blocking);
  Handle submit_async(std::shared_ptr<Handle::State> call);

  struct State;
  std::shared_ptr<State> state_;  // shared with groups that have calls on it
};

/// The asynchronous form of a communicator's calls. They run in the order in which they were made,
/// on one thread per rank and communicator, which the first of them starts; messages that follow
/// one another, with no collective in between, go on side by side unless they touch the same
/// memory. Arguments are checked and copied at once (the spec string when the call runs: that error
/// comes with `wait`); buffers belong to the call until its handle has been waited for. Refers to
/// the communicator.
///
/// Error(io) if no thread can be started. After a failure of the communicator, handles of calls
/// under way throw its cause, all others `failed` with that cause.
class AsyncCalls : public Calls<AsyncCalls, Handle> {
 public:
  /// What Communicator::async returns.
  explicit AsyncCalls(Communicator& communicator) : communicator_(&communicator) {}
  [[nodiscard]] int rank() const { return communicator_->rank(); }
  [[nodiscard]] int size() const { return communicator_->size(); }

  /// A collective told as data. Throws Error(invalid_argument) at once for arguments that make no
  /// sense.
  Handle submit(const Arguments& arguments, const CallOptions& options);
  /// One end of a message told as data, as above.
  Handle submit(const Message& message, const CallOptions& options);

 private:
  Communicator* communicator_;
};

inline AsyncCalls Communicator::async() { return AsyncCalls(*this); }

}  // namespace ringside
