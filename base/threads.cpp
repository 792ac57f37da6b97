// SPDX-License-Identifier: MIT
/// The Linux calls behind threads.hpp.
#include "ringside/base/threads.hpp"

#include <fmt/format.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <memory>
#include <string>
#include <system_error>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside {

namespace {

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

long futex(const std::atomic<std::uint32_t>& word, int operation, FutexScope scope,
           std::uint32_t value, const timespec* limit) {
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
  if (scope == FutexScope::threads) operation |= FUTEX_PRIVATE_FLAG;
  return ::syscall(SYS_futex, &word, operation, value, limit, nullptr, 0);
}

bool register_for_membarrier() {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace

namespace detail {
const bool fences_are_unequal = register_for_membarrier();
}

void heavy_fence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (detail::fences_are_unequal)
    (void)::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

std::vector<int> allowed_cpus() {
  // The kernel refuses (EINVAL) a mask smaller than its own; grow until it fits.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    const std::unique_ptr<cpu_set_t, FreeCpuSet> set(CPU_ALLOC(static_cast<std::size_t>(cpus)));
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    if (::sched_getaffinity(0, size, set.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> allowed;
    for (int cpu = 0; cpu < cpus; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set.get())) allowed.push_back(cpu);
    return allowed;
  }
  return {0};
}

int allowed_cpu_count() { return std::max(1, static_cast<int>(allowed_cpus().size())); }

void pin_current_thread(int cpu) {
  if (cpu < 0 || cpu >= 1 << 20)
    throw Error(ErrorCode::invalid_argument, fmt::format("there is no CPU {}", cpu));
  const auto count = static_cast<std::size_t>(cpu) + 1;
  const std::unique_ptr<cpu_set_t, FreeCpuSet> set(CPU_ALLOC(count));
  const std::size_t size = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(size, set.get());
  CPU_SET_S(static_cast<std::size_t>(cpu), size, set.get());
  if (::sched_setaffinity(0, size, set.get()) != 0)
    throw Error(ErrorCode::io, fmt::format("cannot pin a thread to CPU {}: {}", cpu,
                                           to_lower(std::generic_category().message(errno))));
}

void name_current_thread(std::string_view name) {
  const std::string shortened(name.substr(0, 15));
  ::pthread_setname_np(::pthread_self(), shortened.c_str());
}

FutexResult futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       Seconds limit, FutexScope scope) {
  constexpr double year = 365.0 * 24 * 3600;
  const double seconds = limit.count() > 0 ? std::min(limit.count(), year) : 0;  // also for NaN
  const double whole = std::floor(seconds);
  timespec relative{};
  relative.tv_sec = static_cast<time_t>(whole);
  relative.tv_nsec = std::min(999'999'999L, static_cast<long>((seconds - whole) * 1e9));
  if (futex(word, FUTEX_WAIT, scope, expected, &relative) == 0) return FutexResult::woken;
  if (errno == EAGAIN) return FutexResult::changed;
  if (errno == ETIMEDOUT) return FutexResult::timed_out;
  return FutexResult::woken;  // EINTR: a signal
}

int futex_wake_all(const std::atomic<std::uint32_t>& word, FutexScope scope) {
  return static_cast<int>(std::max(0L, futex(word, FUTEX_WAKE, scope, INT_MAX, nullptr)));
}

}  // namespace ringside
