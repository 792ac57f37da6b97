// SPDX-License-Identifier: MIT
/// Makes a `ringside` program whose collectives take 10 % longer, to see whether a comparison of
/// runs finds that out: the linker puts this in the place of Communicator::submit (--wrap), and
/// every call spins for a tenth of the time that it took.
#include <cstdint>

#include "ringside/base/threads.hpp"
#include "ringside/collectives/communicator.hpp"

namespace {

/// Ticks of a clock that is cheap to read: a tenth of a call of 100 ns is not much time.
std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(ringside::Clock::now().time_since_epoch().count());
#endif
}

}  // namespace

#define RINGSIDE_SUBMIT "_ZN8ringside12Communicator6submitERKNS_9ArgumentsERKNS_11CallOptionsE"

void real_submit(ringside::Communicator* communicator, const ringside::Arguments& arguments,
                 const ringside::CallOptions& options) asm("__real_" RINGSIDE_SUBMIT);
void slowed_submit(ringside::Communicator* communicator, const ringside::Arguments& arguments,
                   const ringside::CallOptions& options) asm("__wrap_" RINGSIDE_SUBMIT);

void slowed_submit(ringside::Communicator* communicator, const ringside::Arguments& arguments,
                   const ringside::CallOptions& options) {
  const std::uint64_t begin = ticks();
  real_submit(communicator, arguments, options);
  const std::uint64_t end = ticks();
  while (ticks() - end < (end - begin) / 10) {
  }
}
