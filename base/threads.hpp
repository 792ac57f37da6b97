// SPDX-License-Identifier: MIT
/// The few things about threads that the standard library lacks: cores, pinning, names, pausing in
/// a spin loop, fences of unequal cost, and sleeping on a word of memory with a time limit.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ringside/base/clock.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ringside {

/// The numbers of the logical cores this thread may run on, ascending (the affinity mask: fewer
/// than the machine has under taskset, mpirun --bind-to or a container's cpuset).
[[nodiscard]] std::vector<int> allowed_cpus();

/// How many they are; at least 1.
[[nodiscard]] int allowed_cpu_count();

/// Confines the calling thread to one logical core. Error (io) when the system refuses.
void pin_current_thread(int cpu);

/// Names the calling thread for debuggers and `top -H`; Linux keeps the first 15 bytes.
void name_current_thread(std::string_view name);

/// Tells the core that this is a spin loop: saves power and lets its sibling run.
inline void cpu_relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// Asks for the cache line of `address`, to be written soon. Touches nothing: any address will do.
inline void prefetch_to_write(const void* address) {
#if defined(__x86_64__)
  // The builtin asks for a copy to read unless the build demands a processor with this instruction;
  // older ones take it for no instruction.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

/// Two halves of a sequentially consistent fence between threads of this process: a thread that
/// stores, passes `light_fence` and loads, and one that stores, passes `heavy_fence` and loads,
/// cannot both miss the other's store. The light one costs nothing where the kernel can interrupt
/// the other threads instead (membarrier).
void heavy_fence();
namespace detail {
extern const bool fences_are_unequal;
}
inline void light_fence() {
  if (detail::fences_are_unequal)
    std::atomic_signal_fence(std::memory_order_seq_cst);
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// Who shares the word that is waited on; `processes` also works through different mappings.
enum class FutexScope { threads, processes };

enum class FutexResult {
  woken,     ///< by a wake, a signal or nothing in particular: look at the word again
  changed,   ///< the word did not hold the expected value
  timed_out  ///< the limit passed
};

/// Sleeps until woken while `word` holds `expected`, at most `limit` (negative counts as 0; more
/// than a year as a year). May return early: call it in a loop that tests the real condition.
FutexResult futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       Seconds limit, FutexScope scope = FutexScope::threads);

/// Wakes all of those asleep on `word`; returns how many. Change the word first.
int futex_wake_all(const std::atomic<std::uint32_t>& word, FutexScope scope = FutexScope::threads);

}  // namespace ringside
