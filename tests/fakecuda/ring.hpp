// SPDX-License-Identifier: MIT
/// A ring all-reduce written directly against the runtime, with waits that can be left out: what
/// the double is tried on. Two streams a rank: one copies to the next rank, one adds what arrived.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ringside::tests::fakecuda {

enum class Bug {
  none,
  reduce_before_arrival,  ///< the adding stream does not wait for the copy
  send_before_reduce,     ///< the copying stream does not wait for the sum that it sends
  slot_overwritten,       ///< the copying stream does not wait until the slot was read
  wait_before_record,     ///< the wait for the copy is issued before the event is recorded
  host_reads_early,       ///< the host waits for one of a rank's two streams only
  reuse_between_calls,    ///< a call does not wait for the one before it
  wrong_device,           ///< a kernel is launched while another device is current
  unjoined_capture,       ///< a stream is not joined before its capture ends
};

struct RingRun {
  int ranks = 4, devices = 4, calls = 2;
  std::size_t elements = 64;
  bool graph = false;
  Bug bug = Bug::none;
};

struct RingResult {
  cudaError_t error = cudaSuccess;  ///< of the first call that failed
  int wrong = 0;                    ///< elements, in all ranks
};

/// Sets up, runs and destroys everything, also after an error.
[[nodiscard]] RingResult run_ring(const RingRun& run);

}  // namespace ringside::tests::fakecuda
