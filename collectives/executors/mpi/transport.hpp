// SPDX-License-Identifier: MIT
/// What Ringside needs of an MPI: messages of bytes, and an all_gather to begin with.
///
/// The library itself does not link an MPI. A shared object does, which is made of one source for
/// every MPI that the build finds (module/), and is opened when a world of MPI processes is asked
/// for. So a program made with Ringside runs without an MPI, and under the mpirun of any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/reduction/types.hpp"

namespace ringside::mpi {

/// A message under way.
struct Ticket {
  std::uint64_t request = 0;  ///< the MPI's
  bool active = false;
};

/// A message that has come and that nobody has received.
struct Incoming {
  int from = 0;
  std::size_t bytes = 0;
};

/// All processes that were started together. Errors of the MPI are thrown as Error(io).
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// "Open MPI 4.1.4".
  [[nodiscard]] virtual std::string library() const = 0;
  /// Whether any thread may call at any time (MPI_THREAD_MULTIPLE). If not: one thread, the one
  /// that made the world.
  [[nodiscard]] virtual bool any_thread() const = 0;
  [[nodiscard]] virtual int greatest_tag() const = 0;

  /// A collective of all processes, for the beginning only. Throws Error(timeout) when they have
  /// not all come within the limit; then no more can be made.
  virtual void all_gather(const void* mine, void* all, std::size_t bytes, Seconds limit) = 0;

  /// Messages of a pair of processes and a tag are matched in the order in which they are sent and
  /// received. The memory belongs to the message until it is done; a message must not be longer
  /// than the memory that it is received in.
  [[nodiscard]] virtual Ticket send(const void* data, std::size_t bytes, int to, int tag) = 0;
  [[nodiscard]] virtual Ticket receive(void* data, std::size_t bytes, int from, int tag) = 0;
  /// Whether it is done; moves messages on.
  [[nodiscard]] virtual bool done(Ticket& ticket) = 0;
  /// Gives up on a message: a receive that has not been matched ends, all else is left to itself.
  virtual void drop(Ticket& ticket) = 0;
  /// The first message with this tag, from anyone; `bytes` 0 and `from` -1 if there is none.
  [[nodiscard]] virtual Incoming incoming(int tag) = 0;

  /// A number for a new communicator: greater than any that this process has used, in whatever
  /// world. What one of an earlier world sent, and nobody received, may still come.
  [[nodiscard]] int next_context() const { return next_context_.load(); }
  void use_contexts_below(int context) { next_context_.store(context); }

  // The MPI's own collectives, to compare with: of all processes.

  /// False if the MPI has no such type or operator. `in` may be `out`.
  [[nodiscard]] virtual bool all_reduce(const void* in, void* out, std::size_t elements,
                                        ElementType type, ReduceOp op) = 0;
  virtual void barrier() = 0;

  /// Whether this process, when it ends, tells the MPI so, which waits until all have. As long as
  /// nothing is said here: if its exit status is 0.
  virtual void finalize_at_exit(bool wanted) = 0;

 private:
  std::atomic<int> next_context_{1};
};

/// Of every process, in the order of ranks, within the option `timeout`; as all_gather.
template <class T>
[[nodiscard]] std::vector<T> gathered(Transport& transport, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(transport.size()));
  transport.all_gather(&mine, all.data(), sizeof(T), option<Seconds>("timeout"));
  return all;
}

/// What is asked of the MPI, least first, as MPI has them.
enum class ThreadLevel { single, funneled, serialized, multiple };

/// The one function that a module exports. `what` gets why it returned null, up to `room` bytes.
using TransportFactory = Transport*(ThreadLevel asked, char* what, std::size_t room);
inline constexpr auto transport_factory_name = "ringside_mpi_transport";

/// That of this process: opened, and MPI initialised, when it is first asked for. Throws
/// Error(unsupported), with the reason, where there is none.
[[nodiscard]] Transport& transport();

}  // namespace ringside::mpi
