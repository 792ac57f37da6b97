// SPDX-License-Identifier: MIT
/// How a test steers and questions the test double of the CUDA runtime that it runs on.
/// The double is found at run time, so the same executable also runs on the real runtime
/// (`Control::present()` is false there). Header only; needs nothing but dlsym.
///
/// What the happens-before check takes for ordered: operations of one stream; a stream's wait and
/// what its event had recorded; nodes of a graph along its edges, and a graph's launch like an
/// operation of its stream; the legacy default stream with blocking streams of its device; and
/// whatever a host thread has synchronised with (a wait that returned, a query that said success)
/// before anything issued later by ANY host thread. The last is generous on purpose: host threads
/// synchronise among themselves by means that the double cannot see.
///
/// Three things that surprise: a blocking copy from pageable memory to a device is not over when
/// the call returns (wait for the device, or use pinned memory); cudaFree does not order anything;
/// and operations run only within calls of the runtime, so a host that waits for memory to change,
/// or for a host function, without calling the runtime waits for ever.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ringside::tests::fakecuda {

/// How the double's machine looks and behaves; the defaults are those without any FAKECUDA_*
/// variable.
struct Configuration {
  int devices = 4;                  ///< FAKECUDA_DEVICES
  std::string access = "all";       ///< FAKECUDA_ACCESS: all, none, or rows "011/101/110"
  std::string scheduler = "pct:1";  ///< FAKECUDA_SCHEDULER: eager, lazy, random:SEED, pct:SEED
  bool check = true;                ///< FAKECUDA_CHECK: happens-before
  std::string faults = "";          ///< FAKECUDA_FAULTS: lost:0-1,hang!:1-0,slow:2-3:8, ...
  std::size_t memory = std::size_t{1} << 30;  ///< FAKECUDA_MEMORY: bytes of each device
};

enum class ReportKind {
  race,            ///< two operations touch the same bytes, one writes, nothing orders them
  pending_free,    ///< memory was released that an operation may still touch
  illegal_access,  ///< an operation touches memory that its device cannot reach
  misuse,          ///< a call that was refused, as a device refuses it, and should never be made
};

/// One of the two sides of a report.
struct ReportedOperation {
  std::string kind;  ///< "kernel NAME", "copy", "set", "host read", "cudaFree", ...
  int device = -1;   ///< that runs it; -1: the host
  std::uint64_t stream =
      0;  ///< number of the stream, counted from 1 in order of creation; 0: the host
  bool in_graph = false;    ///< `stream` then is the number of a branch of the graph
  std::uint64_t issue = 0;  ///< the how-manieth operation since the reset, from 1; 0: the host
  bool writes = false;
  std::uintptr_t begin = 0, end = 0;  ///< bytes touched
};

struct Report {
  ReportKind kind = ReportKind::race;
  std::string text;  ///< one line that says it all
  ReportedOperation earlier, later;
};

struct Counters {
  std::uint64_t calls = 0;       ///< runtime calls that can fail; what fail_call counts
  std::uint64_t operations = 0;  ///< copies, sets, kernels, host functions, also those of graphs
  std::uint64_t waits = 0;       ///< cudaStreamWaitEvent; what drop_wait counts
  std::uint64_t kernels = 0, copies = 0, graph_launches = 0;
  std::vector<std::pair<std::string, std::uint64_t>> by_name;  ///< calls, by function
};

/// The double's side of `Control`.
class ControlInterface {
 public:
  virtual void reset(const Configuration& configuration) = 0;
  [[nodiscard]] virtual Configuration environment() const = 0;
  [[nodiscard]] virtual std::vector<Report> reports() const = 0;
  virtual std::vector<Report> take_reports() = 0;
  [[nodiscard]] virtual std::vector<std::string> leaks() const = 0;
  [[nodiscard]] virtual Counters counters() const = 0;
  virtual void drop_wait(std::uint64_t n) = 0;
  virtual void fail_call(std::uint64_t n, int code) = 0;
  [[nodiscard]] virtual std::string failed_call() const = 0;
  virtual void fault_operation(std::uint64_t n, int code) = 0;
  virtual void spoil_peer_copy(std::uint64_t n) = 0;
  virtual void release_hangs() = 0;
  virtual void host_access(const void* address, std::size_t bytes, bool writes) = 0;

 protected:
  ~ControlInterface() = default;
};

class Control {
 public:
  /// Whether this process runs on the double.
  [[nodiscard]] static bool present() { return find() != nullptr; }

  /// A fresh machine: all memory, streams, events and graphs are gone, counters start at zero,
  /// nothing is planned to fail, and the calling thread's device is 0. Call it while no other
  /// thread uses the runtime. Reports that nobody took are kept for the end of the process.
  static void reset(const Configuration& configuration) { get().reset(configuration); }
  /// The same with what the FAKECUDA_* variables say.
  static void reset() { get().reset(get().environment()); }
  /// What the FAKECUDA_* variables say, to be changed here and there and given to `reset`.
  [[nodiscard]] static Configuration environment() { return get().environment(); }

  /// Since the last reset or take_reports. Reports never taken are printed when the process ends,
  /// and then make its exit code 99.
  [[nodiscard]] static std::vector<Report> reports() { return get().reports(); }
  static std::vector<Report> take_reports() { return get().take_reports(); }

  /// What is alive: allocations, streams, events, graphs, executable graphs, one line each.
  [[nodiscard]] static std::vector<std::string> leaks() { return get().leaks(); }

  [[nodiscard]] static Counters counters() { return get().counters(); }
  [[nodiscard]] static std::uint64_t calls() { return get().counters().calls; }
  [[nodiscard]] static std::uint64_t operations() { return get().counters().operations; }
  [[nodiscard]] static std::uint64_t waits() { return get().counters().waits; }

  /// The n-th cudaStreamWaitEvent since the reset, counted from 1, succeeds and does nothing. 0:
  /// none.
  static void drop_wait(std::uint64_t n) { get().drop_wait(n); }
  /// The n-th call since the reset that can fail returns `code` (a cudaError_t) and does nothing.
  /// 0: none. Those that read an error or its name cannot fail, nor can registration.
  static void fail_call(std::uint64_t n, int code) { get().fail_call(n, code); }
  /// The function that was made to fail; empty if it has not come to that.
  [[nodiscard]] static std::string failed_call() { return get().failed_call(); }
  /// The n-th operation since the reset fails when it runs: nothing of it happens, and from then on
  /// calls that involve its device return `code`, until cudaDeviceReset. 0: none.
  static void fault_operation(std::uint64_t n, int code) { get().fault_operation(n, code); }

  /// The n-th copy from now on from one device's memory to another's, counted from 1, stores one
  /// bit that was not sent. 0: none.
  static void spoil_peer_copy(std::uint64_t n) { get().spoil_peer_copy(n); }

  /// Operations that a planted fault hangs can run now, without effect.
  static void release_hangs() { get().release_hangs(); }

  /// Declares that the host now touches pinned (or device) memory, which the double cannot see.
  static void host_reads(const void* address, std::size_t bytes) {
    get().host_access(address, bytes, false);
  }
  static void host_writes(const void* address, std::size_t bytes) {
    get().host_access(address, bytes, true);
  }

 private:
  static ControlInterface* find() {
    static ControlInterface* const found = [] {
      using Finder = ControlInterface* (*)();
      const auto finder = reinterpret_cast<Finder>(dlsym(RTLD_DEFAULT, "fakecuda_control"));
      return finder == nullptr ? nullptr : finder();
    }();
    return found;
  }
  static ControlInterface& get() { return *find(); }
};

}  // namespace ringside::tests::fakecuda
